"""The examples in docstrings and in pages run."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def modules_with_examples() -> list[str]:
    return [
        ".".join(("infranoise", *path.relative_to(ROOT).with_suffix("").parts))
        for room in ("models", "scheduler", "workers", "analysis", "importers", "cli")
        for path in sorted((ROOT / room).rglob("*.py"))
        if ">>>" in path.read_text(encoding="utf-8")
    ]


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_of_a_module_give_what_they_say(name: str) -> None:
    result = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert result.attempted
    assert not result.failed


def pages_with_examples() -> list[Path]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if ">>>" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", pages_with_examples(), ids=lambda page: page.name)
def test_the_examples_of_a_page_give_what_they_say(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "tests" / "golden")  # where the tables lie that pages speak of
    result = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert result.attempted
    assert not result.failed
