"""docs/import.md tells what every ending of every source is read as: the table that is in force."""

from itertools import groupby
from pathlib import Path

import pytest

from infranoise.importers.modes import Rule
from infranoise.importers.modes_builtin import BUILT_IN, VERSION
from infranoise.models.source import Kind

PAGE = (Path(__file__).parents[2] / "docs" / "import.md").read_text(encoding="utf-8")
KINDS: tuple[Kind, ...] = ("harbor", "inspect", "terminal-bench", "swe-bench")


def table(rules: tuple[Rule, ...]) -> str:
    """Rules as rows of a table, those in a row that mean the same together."""
    rows = ["| its word | in its message | read as |", "|---|---|---|"]
    for (means, message), some in groupby(rules, key=lambda rule: (rule.means, rule.message)):
        modes = ", ".join(f"`{rule.mode}`" for rule in some)
        found = "" if message is None else f"`{message.pattern}`".replace("|", "\\|")
        rows.append(f"| {modes} | {found} | {means} |")
    return "\n".join(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_has_the_table_in_force(kind: Kind) -> None:
    assert table(BUILT_IN[kind]) in PAGE


def test_the_page_names_the_version() -> None:
    assert f"version {VERSION} of the table" in PAGE
