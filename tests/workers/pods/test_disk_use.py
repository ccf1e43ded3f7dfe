"""Disk space of trees, small and large, shallow and deep: the same by either way of counting."""

import os
import subprocess
from pathlib import Path

import pytest

from infranoise.workers.pods import disk_use
from infranoise.workers.pods.disk_use import allocated_bytes


def test_disk_space_counts_what_is_allocated_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(300_000))
    os.link(tmp_path / "a", tmp_path / "again")
    (tmp_path / "link").symlink_to("/etc/passwd")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10**9)
    counted = allocated_bytes([tmp_path])
    du = subprocess.run(["du", "-sk", str(tmp_path)], capture_output=True, check=True)
    assert counted == pytest.approx(int(du.stdout.split()[0]) * 1024, abs=8192)
    assert 300_000 <= counted < 400_000
    assert allocated_bytes([tmp_path / "nowhere"]) == 0


def test_a_tree_deeper_than_a_path_may_be_hides_nothing(tmp_path: Path) -> None:
    dig = "n=$(printf %0200d 0); for i in $(seq 30); do mkdir $n; cd $n; done"
    fill = "head -c 2000000 /dev/zero > x"
    subprocess.run(["sh", "-c", f"{dig}; {fill}"], cwd=tmp_path, check=True)
    assert allocated_bytes([tmp_path]) > 2_000_000
    subprocess.run(["rm", "-rf", *map(str, tmp_path.iterdir())], check=True)


def test_a_large_tree_is_counted_by_another_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        (tmp_path / str(number)).write_bytes(bytes(10_000))
    walked = allocated_bytes([tmp_path])
    monkeypatch.setattr(disk_use, "MOST_ENTRIES", 5)
    assert allocated_bytes([tmp_path]) == pytest.approx(walked, abs=8192)
