"""Bundles: a task's folder goes through one file and comes out the same, and nothing else."""

import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.models.blobs.bundle import pack, unpack
from infranoise.models.errors import BlobError
from infranoise.models.folder_hash import folder_hash

names = st.text(st.sampled_from("aé .-_"), min_size=1, max_size=4).filter(
    lambda name: name.strip(".") == name and name.strip(".")
)
files = st.dictionaries(st.tuples(names, names), st.binary(max_size=40), max_size=5)


def through_a_bundle(folder: Path, place: Path) -> Path:
    place.mkdir()
    out = place / "out"
    out.mkdir()
    pack(folder, folder_hash(folder), place / "b.tar.gz")
    unpack(place / "b.tar.gz", folder_hash(folder), out)
    return out


@settings(max_examples=25)
@given(tree=files)
def test_what_is_packed_comes_out_with_the_same_content(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[tuple[str, str], bytes]
) -> None:
    place = tmp_path_factory.mktemp("bundle")
    task = place / "task"
    for (folder, name), content in tree.items():
        (task / f"d{folder}").mkdir(parents=True, exist_ok=True)
        (task / f"d{folder}" / name).write_bytes(content)
    task.mkdir(exist_ok=True)
    assert folder_hash(through_a_bundle(task, place / "x")) == folder_hash(task)


@pytest.fixture
def task(tmp_path: Path) -> Path:
    folder = tmp_path / "task"
    (folder / "empty").mkdir(parents=True)
    (folder / "run.sh").write_text("true")
    (folder / "run.sh").chmod(0o700)
    (folder / "words.txt").write_text("words")
    os.link(folder / "words.txt", folder / "same.txt")
    (folder / "link").symlink_to("/usr/bin/env")
    (folder / "empty" / "up").symlink_to("../words.txt")
    return folder


def test_links_empty_folders_and_the_right_to_execute_survive(task: Path, tmp_path: Path) -> None:
    out = through_a_bundle(task, tmp_path / "x")
    assert str((out / "link").readlink()) == "/usr/bin/env"
    assert (out / "empty" / "up").read_text() == "words"
    assert (out / "same.txt").read_text() == "words"
    assert [(out / name).stat().st_mode & 0o777 for name in ("run.sh", "words.txt")] == [
        0o755,
        0o644,
    ]


def test_equal_folders_give_equal_files(task: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    pack(task, folder_hash(task), first)
    os.utime(task / "words.txt", (1, 1))
    (task / "words.txt").chmod(0o600)
    pack(task, folder_hash(task), second)
    assert first.read_bytes() == second.read_bytes()


def test_a_folder_that_changes_while_it_is_packed_is_refused(task: Path, tmp_path: Path) -> None:
    before = folder_hash(task)
    (task / "words.txt").write_text("other")
    with pytest.raises(BlobError, match="changed while it was packed"):
        pack(task, before, tmp_path / "b")


def test_a_fifo_is_refused(task: Path, tmp_path: Path) -> None:
    os.mkfifo(task / "pipe")
    with pytest.raises(BlobError, match="neither a file, a folder nor a link"):
        pack(task, "", tmp_path / "b")


def link(name: str, to: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, to
    return member


def device(name: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = tarfile.CHRTYPE
    return member


HOSTILE = {
    "a name that climbs": ([tarfile.TarInfo("../out.txt")], "leads out"),
    "an absolute name": ([tarfile.TarInfo("/tmp/out.txt")], "leads out"),
    "a file behind a link": ([link("d", "OUTSIDE"), tarfile.TarInfo("d/out.txt")], "unpacked"),
    "a link behind a link": ([link("d", "OUTSIDE"), link("d/out.txt", "x")], "behind a link"),
    "a device": ([device("null")], "files, folders and links alone"),
    "one name twice": ([tarfile.TarInfo("a"), tarfile.TarInfo("a")], "exists"),
    "another content": ([tarfile.TarInfo("a")], "not the task that was submitted"),
}


@pytest.mark.parametrize("story", HOSTILE)
def test_a_hostile_bundle_is_refused_and_writes_nothing_outside(story: str, tmp_path: Path) -> None:
    members, words = HOSTILE[story]
    outside, inside = tmp_path / "outside", tmp_path / "in" / "side"
    outside.mkdir()
    inside.mkdir(parents=True)
    with tarfile.open(tmp_path / "b", "w:gz") as tar:
        for member in members:
            member.linkname = member.linkname.replace("OUTSIDE", str(outside))
            tar.addfile(member, io.BytesIO())
    with pytest.raises(BlobError, match=words):
        unpack(tmp_path / "b", "0" * 64, inside)
    assert not list(outside.iterdir())
    assert [path.name for path in inside.parent.iterdir()] == ["side"]


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"nothing of the kind")
    with pytest.raises(BlobError, match="cannot be unpacked"):
        unpack(tmp_path / "b", "", tmp_path / "new")
