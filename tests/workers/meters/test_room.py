"""A disk's room, asked of real file systems."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from infranoise.workers.meters.room import full


@pytest.fixture
def disk(tmp_path: Path, missing: Callable[[str], NoReturn]) -> Iterator[Path]:
    """A disk of 2 MiB and 16 files."""
    if os.geteuid() != 0:
        missing("root (to mount a small disk)")
    options = "size=2m,nr_inodes=16"
    subprocess.run(("mount", "-t", "tmpfs", "-o", options, "room", tmp_path), check=True)
    yield tmp_path
    subprocess.run(("umount", "--lazy", tmp_path), check=True)


def test_a_disk_with_room_is_not_full(disk: Path) -> None:
    assert full([disk]) is False


def test_a_disk_without_bytes_is_full(disk: Path) -> None:
    (disk / "ballast").write_bytes(b"\0" * (3 << 19))
    assert full([disk]) is True


def test_a_disk_without_files_is_full(disk: Path) -> None:
    with contextlib.suppress(OSError):
        for number in range(17):
            (disk / str(number)).touch()
    assert full([Path("/proc"), disk]) is True


def test_what_cannot_be_asked_is_not_known(tmp_path: Path) -> None:
    assert full([tmp_path / "nowhere"]) is None
    assert full([]) is None
