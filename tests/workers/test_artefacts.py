"""Kept files: bounded, by content, and never the end of an attempt."""

import hashlib
from pathlib import Path

from infranoise.models.blobs.place import Blobs, artefact_name
from infranoise.models.execution import ExecResult, Stream
from infranoise.workers.artefacts import LIMIT_BYTES, Artefacts

PHASES = {
    "agent": ExecResult(exit_code=0, wall_s=1, stdout=Stream(tail="did it\n")),
    "verifier": ExecResult(exit_code=1, wall_s=1, stderr=Stream(tail="no\udcff")),
}


def test_in_a_folder_each_attempt_has_its_own(tmp_path: Path) -> None:
    kept = Artefacts(tmp_path).keep("t.1", PHASES)
    assert [artefact.name for artefact in kept] == ["t.1/agent.stdout", "t.1/verifier.stderr"]
    assert (tmp_path / "t.1/verifier.stderr").read_bytes() == b"no\xff"


def test_in_blobs_they_lie_by_content(tmp_path: Path) -> None:
    blobs = Blobs(str(tmp_path))
    kept = Artefacts(tmp_path / "unused").keep("t.1", PHASES, blobs)
    assert blobs.read(artefact_name(kept[0].sha256)) == b"did it\n"
    assert kept[0].sha256 == hashlib.sha256(b"did it\n").hexdigest()
    assert not (tmp_path / "unused").exists()


def test_the_end_of_a_long_one_is_kept(tmp_path: Path) -> None:
    long = {"agent": ExecResult(exit_code=0, wall_s=1, stdout=Stream(tail="a" * LIMIT_BYTES + "z"))}
    (kept,) = Artefacts(tmp_path).keep("t.1", long)
    assert kept.size_bytes == LIMIT_BYTES
    assert (tmp_path / kept.name).read_bytes().endswith(b"az")


def test_what_cannot_be_kept_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert Artefacts(tmp_path / "file").keep("t.1", PHASES) == ()
    assert Artefacts().keep("t.1", PHASES, Blobs("nosuch://place")) == ()


def test_without_a_place_nothing_is_kept() -> None:
    assert Artefacts().keep("t.1", PHASES) == ()
