"""The script that draws charts is made once a machine, and never trusted blindly."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from infranoise.analysis.render import library as of
from infranoise.models.errors import InfranoiseError


class Drawer:
    """Stands for the library that makes the script, which takes it two seconds."""

    __version__ = "1"

    def __init__(self, script: str = "draw();") -> None:
        self.script, self.made = script, 0

    def javascript_bundle(self, snippet: str) -> str:
        assert "vegaEmbed" in snippet
        self.made += 1
        return self.script


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    yield tmp_path / "infranoise"
    of.library.cache_clear()


@pytest.fixture
def drawer(monkeypatch: pytest.MonkeyPatch) -> Drawer:
    drawer = Drawer()
    monkeypatch.setattr(of, "vl_convert", lambda: drawer)
    return drawer


def asked_anew() -> str:
    of.library.cache_clear()
    return of.library()


def test_it_is_made_once(folder: Path, drawer: Drawer) -> None:
    assert [asked_anew(), asked_anew()] == ["draw();\n"] * 2
    assert drawer.made == 1
    assert len(list(folder.iterdir())) == 1


def test_another_version_is_another_script(folder: Path, drawer: Drawer) -> None:
    asked_anew()
    drawer.__version__, drawer.script = "2", "draw_better();"
    assert asked_anew() == "draw_better();\n"


@pytest.mark.parametrize("harm", [b"", b"steal();", b"\xff\xfe", b"0123\ndraw();"])
def test_a_kept_script_that_was_harmed_is_made_again(
    folder: Path, drawer: Drawer, harm: bytes
) -> None:
    asked_anew()
    (kept,) = folder.iterdir()
    kept.write_bytes(harm)
    assert asked_anew() == "draw();\n"
    assert asked_anew() == "draw();\n"
    assert drawer.made == 2


def test_without_a_place_to_keep_it_there_is_a_script_all_the_same(
    folder: Path, drawer: Drawer
) -> None:
    folder.write_text("no folder")
    assert asked_anew() == "draw();\n"


def test_a_script_that_would_end_itself_in_a_page_is_refused_and_not_kept(
    folder: Path, drawer: Drawer
) -> None:
    drawer.script = "draw('</Script>');"
    with pytest.raises(InfranoiseError, match="would end its own script"):
        asked_anew()
    assert not folder.exists()
