"""Archives into and out of a pod; what comes out of one is hostile."""

import io
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.workers.pods.archive import PIECE_BYTES, pack, unpack


def packed(source: Path, target: str) -> tarfile.TarFile:
    return tarfile.open(fileobj=io.BytesIO(b"".join(pack(source, PurePosixPath(target)))))


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> Iterator[bytes]:
    """A tar stream in pieces of odd sizes."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for header, contents in members:
            header.size = len(contents)
            tar.addfile(header, io.BytesIO(contents))
    text = whole.getvalue()
    return (text[start : start + 999] for start in range(0, len(text), 999))


def file(name: str, contents: bytes = b"x", mode: int = 0o644) -> tuple[tarfile.TarInfo, bytes]:
    header = tarfile.TarInfo(name)
    header.mode = mode
    return header, contents


def other(name: str, kind: bytes, to: str = "") -> tuple[tarfile.TarInfo, bytes]:
    header = tarfile.TarInfo(name)
    header.type, header.linkname = kind, to
    return header, b""


def link(name: str, to: str) -> tuple[tarfile.TarInfo, bytes]:
    return other(name, tarfile.SYMTYPE, to)


FOLDER = other("top", tarfile.DIRTYPE)

# --- into a pod ---


def test_a_folder_appears_at_its_target_with_modes_and_links(tmp_path: Path) -> None:
    (tmp_path / "sub" / "empty").mkdir(parents=True)
    (tmp_path / "sub" / "run.sh").write_text("true\n")
    (tmp_path / "sub" / "run.sh").chmod(0o755)
    (tmp_path / "back\\slash").write_text("y")
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "fifo")
    with packed(tmp_path, "/tests") as tar:
        members = {member.name: member for member in tar}
    assert list(members) == [
        "tests/back\\slash",
        "tests/link",
        "tests/sub",
        "tests/sub/empty",
        "tests/sub/run.sh",
    ]
    assert members["tests/sub/run.sh"].mode == 0o755
    assert members["tests/link"].linkname == "/etc/passwd"
    assert {(member.uid, member.gid) for member in members.values()} == {(0, 0)}


def test_one_file_appears_under_the_targets_name(tmp_path: Path) -> None:
    (tmp_path / "here.txt").write_text("words")
    with packed(tmp_path / "here.txt", "/deep/there.txt") as tar:
        assert tar.getnames() == ["deep/there.txt"]


def test_an_empty_folder_appears_and_a_full_one_is_not_named(tmp_path: Path) -> None:
    with packed(tmp_path, "/new") as tar:
        assert tar.getnames() == ["new"]
    (tmp_path / "x").touch()
    with packed(tmp_path, "/new") as tar:
        assert tar.getnames() == ["new/x"]


def test_a_large_file_goes_in_pieces(tmp_path: Path) -> None:
    contents = os.urandom(5 * PIECE_BYTES + 17)
    (tmp_path / "large").write_bytes(contents)
    pieces = list(pack(tmp_path, PurePosixPath("/t")))
    assert max(map(len, pieces)) <= 2 * PIECE_BYTES
    with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as tar:
        stored = tar.extractfile("t/large")
        assert stored is not None
        assert stored.read() == contents


def test_a_name_that_is_no_text_goes_in_as_it_is(tmp_path: Path) -> None:
    name = os.fsdecode(b"bad\xffname")
    (tmp_path / name).write_text("x")
    with packed(tmp_path, "/t") as tar:
        assert tar.getnames() == [f"t/{name}"]


@pytest.mark.parametrize("pieces", [0, 1, 9], ids=["emptied", "shrunk", "grown"])
def test_a_file_that_changes_meanwhile_keeps_the_archive_whole(tmp_path: Path, pieces: int) -> None:
    (tmp_path / "a").write_bytes(bytes(3 * PIECE_BYTES))
    (tmp_path / "b").write_bytes(b"after")
    stream = pack(tmp_path, PurePosixPath("/t"))
    first = next(stream)
    os.truncate(tmp_path / "a", pieces * PIECE_BYTES)
    with tarfile.open(fileobj=io.BytesIO(first + b"".join(stream))) as tar:
        assert [(m.name, m.size) for m in tar] == [("t/a", 3 * PIECE_BYTES), ("t/b", 5)]


# --- out of a pod ---


def test_a_folder_comes_out_as_the_target(tmp_path: Path) -> None:
    target = tmp_path / "logs"
    stream = archive(FOLDER, file("top/a", b"one", 0o4755), file("top/sub/b", b"two", 0o000))
    assert unpack(stream, target)
    assert (target / "a").read_bytes() == b"one"
    assert (target / "sub" / "b").read_bytes() == b"two"
    assert stat.S_IMODE((target / "a").stat().st_mode) == 0o700
    assert stat.S_IMODE((target / "sub" / "b").stat().st_mode) == 0o600


def test_one_file_comes_out_under_the_targets_name(tmp_path: Path) -> None:
    assert unpack(archive(file("reward.txt", b"1")), tmp_path / "deep" / "mine.txt")
    assert (tmp_path / "deep" / "mine.txt").read_bytes() == b"1"


HOSTILE = {
    "an absolute name": [file("/top/evil")],
    "a climbing name": [file("top/../../evil")],
    "an absolute link": [link("top/evil", "/etc/passwd")],
    "a climbing link": [link("top/evil", "../../secret")],
    "a link out by way of another": [link("top/up", "."), link("top/evil", "up/../../secret")],
    "a chain of links": [link("top/a", "b"), link("top/b", "c"), link("top/c", "../..")],
    "a file behind a link": [link("top/door", ".."), file("top/door/plain")],
    "a file through a link to a folder": [link("top/d", "/"), file("top/d/tmp/plain")],
    "a hard link to a file outside": [other("top/evil", tarfile.LNKTYPE, "/etc/passwd")],
    "a hard link to a link": [
        link("top/l", "/etc/passwd"),
        other("top/evil", tarfile.LNKTYPE, "top/l"),
    ],
    "a character device": [other("top/evil", tarfile.CHRTYPE)],
    "a block device": [other("top/evil", tarfile.BLKTYPE)],
    "a fifo": [other("top/evil", tarfile.FIFOTYPE)],
    "the target itself as a link": [link("top", "/etc")],
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE.keys())
def test_nothing_hostile_comes_out(
    tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]]
) -> None:
    (tmp_path / "secret").write_text("mine")
    target = tmp_path / "in" / "top"
    unpack(archive(*members), target)
    unpack(archive(FOLDER, *members, file("top/good")), target)
    assert (target / "good").exists() or not target.exists()
    for path in tmp_path.rglob("*"):
        assert "evil" not in path.name
        assert path.resolve().is_relative_to(target) or path in (
            tmp_path / "secret",
            tmp_path / "in",
        )


def test_links_that_stay_inside_are_kept(tmp_path: Path) -> None:
    target = tmp_path / "out"
    members = [
        FOLDER,
        file("top/sub/real", b"r"),
        link("top/near", "sub/real"),
        link("top/sub/back", "../near"),
        link("top/dangling", "nowhere"),
        other("top/twin", tarfile.LNKTYPE, "top/sub/real"),
    ]
    unpack(archive(*members), target)
    assert (target / "near").readlink() == Path("sub/real")
    assert (target / "sub" / "back").read_bytes() == b"r"
    assert (target / "dangling").is_symlink()
    assert (target / "twin").read_bytes() == b"r"
    assert not (target / "twin").samefile(target / "sub" / "real")


def test_a_link_that_stood_in_the_target_before_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("mine")
    target = tmp_path / "out"
    target.mkdir()
    (target / "file").symlink_to(tmp_path / "secret")
    (target / "folder").symlink_to(tmp_path)
    unpack(archive(FOLDER, file("top/file"), file("top/folder/secret")), target)
    assert (tmp_path / "secret").read_text() == "mine"


@pytest.mark.parametrize(("cap", "kept"), [(30, ["a", "b", "c"]), (29, ["a", "b"]), (0, [])])
def test_no_more_than_the_cap_is_written(tmp_path: Path, cap: int, kept: list[str]) -> None:
    members = [file(f"top/{name}", b"0123456789") for name in "abc"]
    unpack(archive(*members), tmp_path / "out", cap_bytes=cap)
    assert sorted(p.name for p in tmp_path.glob("out/*")) == kept


def test_copies_of_hard_links_count_towards_the_cap(tmp_path: Path) -> None:
    twins = [other(f"top/twin{i}", tarfile.LNKTYPE, "top/a") for i in range(5)]
    unpack(archive(file("top/a", b"0123456789"), *twins), tmp_path / "out", cap_bytes=30)
    assert len(list((tmp_path / "out").iterdir())) == 3


def test_a_name_longer_than_a_path_may_be_is_left_out(tmp_path: Path) -> None:
    long = "/".join(["d" * 200] * 30)
    assert unpack(archive(FOLDER, file(f"top/{long}"), file("top/good")), tmp_path / "out")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["good"]


def test_a_stream_that_breaks_off_is_an_error(tmp_path: Path) -> None:
    whole = b"".join(archive(file("top", b"x" * 5000)))
    with pytest.raises(tarfile.TarError):
        unpack(iter([whole[:3000]]), tmp_path / "out")


names = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=12
).filter(lambda name: name not in (".", ".."))


@given(tree=st.dictionaries(names, st.binary(max_size=3000), min_size=1, max_size=5))
def test_what_goes_in_comes_out_the_same(
    tree: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    here = tmp_path_factory.mktemp("round")
    (here / "from").mkdir()
    for name, contents in tree.items():
        (here / "from" / name).write_bytes(contents)
    unpack(pack(here / "from", PurePosixPath("/t")), here / "to")
    assert {p.name: p.read_bytes() for p in (here / "to").iterdir()} == tree
