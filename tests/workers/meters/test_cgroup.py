"""Reading cgroup files: recorded texts of kernels 5.10 (v1), 6.1 and 6.18 (v1 and v2)."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.workers.meters.cgroup import (
    Reading,
    count,
    flat_keyed,
    quota_v1,
    quota_v2,
    read_v1,
    read_v2,
)

V1 = {
    "memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
    "memory/memory.max_usage_in_bytes": "67108864\n",
    "memory/memory.stat": "cache 4096\nrss 1343488\nrss_huge 0\ntotal_rss 99\n",
    "cpuacct/cpuacct.usage": "1500000000\n",
    "cpu/cpu.stat": "nr_periods 40\nnr_throttled 7\nthrottled_time 250000000\n",
    "pids/pids.current": "3\n",
    "pids/pids.peak": "11\n",
}
V2 = {
    "memory.events": "low 0\nhigh 0\nmax 31\noom 2\noom_kill 1\noom_group_kill 0\n",
    "memory.peak": "67108864\n",
    "memory.stat": "anon 1343488\nfile 4096\nkernel 8192\n",
    "cpu.stat": "usage_usec 1500000\nuser_usec 1\nsystem_usec 2\nnr_throttled 7\n"
    "throttled_usec 250000\n",
    "pids.current": "3\n",
    "pids.peak": "11\n",
}
KNOWN = Reading(
    oom_kills=2,
    memory_peak_bytes=67108864,
    anon_bytes=1343488,
    cpu_s=1.5,
    throttled_s=0.25,
    throttled_periods=7,
    pids=3,
    pids_peak=11,
)


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_v1_group_is_read_from_one_folder_per_controller(tmp_path: Path) -> None:
    plant(tmp_path, V1)
    folders = {name: tmp_path / name for name in ("memory", "cpu", "cpuacct", "pids")}
    assert read_v1(folders) == KNOWN


def test_a_v2_group_is_read_from_one_folder(tmp_path: Path) -> None:
    assert read_v2(plant(tmp_path, V2)) == replace(KNOWN, oom_kills=1)


@pytest.mark.parametrize(
    ("missing", "unknown"),
    [
        ("memory.events", {"oom_kills"}),
        ("memory.peak", {"memory_peak_bytes"}),  # before Linux 5.19
        ("memory.stat", {"anon_bytes"}),
        ("cpu.stat", {"cpu_s", "throttled_s", "throttled_periods"}),
        ("pids.current", {"pids"}),
        ("pids.peak", {"pids_peak"}),  # before Linux 6.1
    ],
)
def test_what_a_kernel_does_not_tell_is_none(
    tmp_path: Path, missing: str, unknown: set[str]
) -> None:
    found = read_v2(plant(tmp_path, {name: V2[name] for name in V2 if name != missing}))
    assert {name for name, value in asdict(found).items() if value is None} == unknown


def test_a_group_that_is_gone_tells_nothing(tmp_path: Path) -> None:
    assert read_v2(tmp_path / "gone") == read_v1({"memory": tmp_path / "gone"}) == Reading()


@pytest.mark.parametrize(
    ("text", "value"),
    [("0\n", 0), ("4096", 4096), ("max\n", None), ("", None), ("-1\n", None), ("1 2\n", None)],
)
def test_a_number_is_a_number_and_max_is_none(text: str, value: int | None) -> None:
    assert count(text) == value


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a 1\nb 2\n", {"a": 1, "b": 2}),
        ("a 1\nb\nc x\nd 1 2\n\n", {"a": 1}),
        ("", {}),
    ],
)
def test_lines_of_another_shape_are_left_out(text: str, pairs: dict[str, int]) -> None:
    assert flat_keyed(text) == pairs


@given(st.integers(1_000, 10_000_000), st.integers(1_000, 1_000_000))
def test_both_versions_tell_a_quota_as_the_same_cores(quota: int, period: int) -> None:
    assert quota_v1(f"{quota}\n", f"{period}\n") == quota_v2(f"{quota} {period}\n")
