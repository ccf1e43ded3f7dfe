import os
from pathlib import Path

import pytest

from infranoise.models.folder_hash import NotHashable, folder_hash, text_hash


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    whole = tmp_path / "task"
    (whole / "sub").mkdir(parents=True)
    (whole / "a").write_bytes(b"one")
    (whole / "sub" / "b").write_bytes(b"two")
    return whole


def test_a_copy_elsewhere_has_the_same_hash(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    (copy / "sub").mkdir(parents=True)
    (copy / "sub" / "b").write_bytes(b"two")
    (copy / "a").write_bytes(b"one")
    assert folder_hash(copy) == folder_hash(folder)


def test_the_executable_bit_does_not_matter(folder: Path) -> None:
    before = folder_hash(folder)
    (folder / "a").chmod(0o755)
    assert folder_hash(folder) == before


CHANGES = {
    "bytes": lambda folder: (folder / "a").write_bytes(b"One"),
    "a name": lambda folder: (folder / "a").rename(folder / "c"),
    "a place": lambda folder: (folder / "a").rename(folder / "sub" / "a"),
    "an empty file more": lambda folder: (folder / "c").touch(),
    "an empty folder more": lambda folder: (folder / "c").mkdir(),
    "a link more": lambda folder: (folder / "c").symlink_to("a"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_of_content_changes_the_hash(folder: Path, change: object) -> None:
    before = folder_hash(folder)
    assert callable(change)
    change(folder)
    assert folder_hash(folder) != before


def test_a_link_counts_as_its_text_and_is_not_followed(folder: Path) -> None:
    (folder / "loop").symlink_to(folder)
    (folder / "gone").symlink_to("no/such/file")
    before = folder_hash(folder)
    (folder / "gone").unlink()
    (folder / "gone").symlink_to("another")
    assert folder_hash(folder) != before


def test_names_that_are_no_utf8_are_hashed_as_bytes(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\\x")).write_bytes(b"")
    assert len(folder_hash(folder)) == 64


def test_a_fifo_is_refused_and_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(NotHashable, match="pipe"):
        folder_hash(folder)


def test_lists_of_texts_do_not_run_together() -> None:
    assert text_hash("ab", "c") != text_hash("a", "bc")
