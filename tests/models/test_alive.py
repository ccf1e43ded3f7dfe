"""The file by which a process says that it works."""

from pathlib import Path

from infranoise.models.alive import Alive


def test_its_age_is_when_it_was_touched_last(tmp_path: Path) -> None:
    file = tmp_path / "alive"
    Alive(file).touch()
    first = file.stat().st_mtime_ns
    Alive(file).touch()
    assert file.stat().st_mtime_ns >= first


def test_no_file_is_wanted_unless_one_is_named() -> None:
    Alive().touch()


def test_a_file_that_cannot_be_written_stops_no_work(tmp_path: Path) -> None:
    Alive(tmp_path / "nowhere" / "alive").touch()
    assert not list(tmp_path.iterdir())
