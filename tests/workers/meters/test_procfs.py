from pathlib import Path

import pytest

from infranoise.workers.meters.procfs import Files


@pytest.fixture
def files(tmp_path: Path) -> Files:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal:  2048 kB\nHuge: 3\nMemTotal: 1 kB\n")
    (tmp_path / "proc" / "seven").write_text("7\n")
    return Files(tmp_path)


def test_a_missing_file_is_none_and_an_empty_table(files: Files) -> None:
    assert files.text("proc/nothing") is None
    assert files.whole("proc/nothing") is None
    assert files.table("proc/nothing") == {}
    assert files.size_bytes("proc/nothing", "MemTotal") is None


def test_numbers_are_whole_or_none(files: Files) -> None:
    assert files.whole("proc/seven") == 7
    assert files.whole("proc/meminfo") is None


def test_of_repeated_keys_the_first_counts_and_sizes_are_kib(files: Files) -> None:
    assert files.size_bytes("proc/meminfo", "MemTotal") == 2048 * 1024
    assert files.table("proc/meminfo", ":")["Huge"] == "3"


def test_paths_are_sorted_and_below_the_root(files: Files) -> None:
    assert files.paths("proc", "*") == ["proc/meminfo", "proc/seven"]
