"""A place for blobs: whole or not at all, written once, its errors told with their remedy."""

import uuid
from pathlib import Path

import pytest

from infranoise.models.blobs.place import Blobs, artefact_name, bundle_name
from infranoise.models.errors import BlobError


@pytest.fixture(params=["path", "file", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    urls = {
        "path": str(tmp_path / "blobs"),
        "file": f"file://{tmp_path}/blobs",
        "memory": f"memory://{uuid.uuid4().hex}",  # as a bucket: no folders, no renames needed
    }
    return Blobs(urls[request.param])


def test_a_blob_is_read_as_it_was_put(blobs: Blobs, tmp_path: Path) -> None:
    assert not blobs.has("tasks/a")
    blobs.put("tasks/a", b"content")
    assert blobs.has("tasks/a")
    assert blobs.read("tasks/a") == b"content"
    blobs.get("tasks/a", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"content"


def test_a_file_is_put_like_bytes(blobs: Blobs, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"content")
    blobs.put("tasks/a", tmp_path / "source")
    assert blobs.read("tasks/a") == b"content"


def test_a_blob_is_written_once(blobs: Blobs) -> None:
    blobs.put("a/b", b"first")
    blobs.put("a/b", b"second")
    assert blobs.read("a/b") == b"first"


def test_nothing_half_written_stays_in_a_directory(tmp_path: Path) -> None:
    Blobs(str(tmp_path)).put("a/b", b"content")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


def test_a_missing_blob_says_what_to_look_at(blobs: Blobs) -> None:
    with pytest.raises(BlobError, match="holds no tasks/none"):
        blobs.read("tasks/none")


FAULTS = {
    "nosuch://bucket/x": "nosuch",
    "/dev/null/blobs": "/dev/null",
}


@pytest.mark.parametrize("url", FAULTS)
def test_a_place_that_cannot_be_had_is_one_clear_error(url: str) -> None:
    with pytest.raises(BlobError, match=FAULTS[url]):
        Blobs(url).put("a/b", b"")


def test_names_are_made_of_content_hashes() -> None:
    assert bundle_name("abc") == "tasks/abc.tar.gz"
    assert artefact_name("abcd") == "artefacts/ab/abcd"
