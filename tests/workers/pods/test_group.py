"""Limits as kernel settings, and what is read back, for both versions, without a kernel."""

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.models.errors import StartFailed
from infranoise.models.limits import Effective, Limits
from infranoise.workers.pods.process import cgroup_v1, cgroup_v2
from infranoise.workers.pods.process.cgroup_v2 import CgroupV2
from infranoise.workers.pods.process.group import (
    Setting,
    cpu_quota_us,
    cpu_shares,
    differences,
    shares_of,
    weight_of,
    write,
)

MIB = 1 << 20
FULL = Limits(
    memory_floor_bytes=32 * MIB,
    memory_ceiling_bytes=64 * MIB,
    cpu_floor=0.5,
    cpu_ceiling=1.5,
    storage_ceiling_bytes=100 * MIB,
    swap_bytes=8 * MIB,
    oom_scope="pod",
    pids=99,
)


def by_file(settings: tuple[Setting, ...]) -> dict[str, str]:
    return {setting.file: setting.value for setting in settings}


def test_v1_settings() -> None:
    assert by_file(cgroup_v1.settings(FULL)) == {
        "pids.max": "99",
        "memory.limit_in_bytes": str(64 * MIB),
        "memory.memsw.limit_in_bytes": str(72 * MIB),
        "memory.soft_limit_in_bytes": str(32 * MIB),
        "cpu.shares": "512",
        "cpu.cfs_period_us": "100000",
        "cpu.cfs_quota_us": "150000",
    }


def test_v1_takes_the_limit_before_the_limit_with_swap() -> None:
    files = [setting.file for setting in cgroup_v1.settings(FULL)]
    assert files.index("memory.limit_in_bytes") < files.index("memory.memsw.limit_in_bytes")


def test_v2_settings() -> None:
    assert by_file(cgroup_v2.settings(FULL)) == {
        "pids.max": "99",
        "memory.oom.group": "1",
        "memory.max": str(64 * MIB),
        "memory.swap.max": str(8 * MIB),
        "memory.low": str(32 * MIB),
        "cpu.weight": "20",
        "cpu.max": "150000 100000",
    }


@pytest.mark.parametrize("version", [cgroup_v1, cgroup_v2])
def test_without_ceilings_only_processes_are_bounded(version: object) -> None:
    files = by_file(version.settings(Limits())).keys()  # type: ignore[attr-defined]
    assert files <= {"pids.max", "memory.oom.group"}


def test_only_the_memory_ceiling_is_essential() -> None:
    for settings in (cgroup_v1.settings(FULL), cgroup_v2.settings(FULL)):
        assert [s.file for s in settings if s.essential] in (
            ["memory.limit_in_bytes"],
            ["memory.max"],
        )


def plant(folder: Path, files: Mapping[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


# A v2 group as Linux 6.8 shows it, after FULL was written.
LIVE_V2 = {
    "memory.max": f"{64 * MIB}\n",
    "memory.swap.max": f"{8 * MIB}\n",
    "memory.low": f"{32 * MIB}\n",
    "memory.oom.group": "1\n",
    "pids.max": "99\n",
    "cpu.weight": "20\n",
    "cpu.max": "150000 100000\n",
}


def test_v2_limits_read_back_as_asked(tmp_path: Path) -> None:
    found = cgroup_v2.effective(plant(tmp_path, LIVE_V2), FULL, "systemd-scope")
    assert found.differs == ()
    assert found.enforcement == "systemd-scope"
    assert found.memory_and_swap_bytes == 72 * MIB
    assert (found.cpu_ceiling, found.pids, found.oom_scope) == (1.5, 99, "pod")


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("memory.max", "max\n", "memory ceiling: asked 67108864, in force none"),
        ("memory.max", f"{32 * MIB}\n", "memory ceiling: asked 67108864, in force 33554432"),
        ("memory.oom.group", "0\n", "oom_scope: asked pod, in force process"),
        ("cpu.max", "max 100000\n", "cpu ceiling: asked 1.5, in force none"),
        ("pids.max", "max\n", "pids: asked 99, in force none"),
        ("memory.swap.max", None, "memory and swap: asked 75497472, in force none"),
        ("cpu.weight", None, "cpu shares: asked 512, in force none"),
    ],
)
def test_v2_tells_each_limit_that_is_not_in_force(
    tmp_path: Path, file: str, text: str | None, told: str
) -> None:
    files = {name: value for name, value in LIVE_V2.items() if name != file}
    plant(tmp_path, files if text is None else {**files, file: text})
    assert told in cgroup_v2.effective(tmp_path, FULL, "cgroup-v2").differs


def test_v1_limits_read_back_as_asked(tmp_path: Path) -> None:
    live = by_file(cgroup_v1.settings(FULL))
    folders = {
        name: plant(tmp_path / name, {f: v for f, v in live.items() if f.startswith(name)})
        for name in ("memory", "cpu", "pids")
    }
    found = cgroup_v1.effective(folders, FULL)
    assert found.differs == ()
    assert found.memory_and_swap_bytes == 72 * MIB
    assert found.cpu_shares == 512


def test_v1_reads_the_largest_number_of_pages_as_no_limit(tmp_path: Path) -> None:
    unlimited = {
        "memory.limit_in_bytes": "9223372036854771712\n",
        "memory.soft_limit_in_bytes": "9223372036854771712\n",
    }
    found = cgroup_v1.effective({"memory": plant(tmp_path, unlimited)}, Limits())
    assert (found.memory_ceiling_bytes, found.memory_floor_bytes) == (None, None)


def test_a_kernel_that_refuses_the_memory_ceiling_fails_the_start(tmp_path: Path) -> None:
    (tmp_path / "pod" / "memory.max").mkdir(parents=True)  # a folder takes no text
    with pytest.raises(StartFailed, match=r"memory\.max"):
        CgroupV2(tmp_path / "pod").apply(FULL)


def test_a_controller_that_is_missing_is_told_and_starts_all_the_same(tmp_path: Path) -> None:
    folder = plant(tmp_path / "pod", {"memory.max": "max"})
    (folder / "cpu.max").mkdir()
    found = CgroupV2(folder).apply(FULL)
    assert found.memory_ceiling_bytes == 64 * MIB
    assert any(told.startswith("cpu ceiling") for told in found.differs)


@given(st.integers(2, 262_144))
def test_shares_survive_the_way_through_weights_within_a_step(shares: int) -> None:
    assert 1 <= weight_of(shares) <= 10_000
    assert abs(shares_of(weight_of(shares)) - shares) <= 27


@given(st.floats(0.0001, 1024, allow_nan=False))
def test_any_cpu_is_a_setting_that_the_kernel_takes(cores: float) -> None:
    assert cpu_quota_us(cores) >= 1_000
    assert cpu_shares(cores) >= 2


@given(st.integers(1, 1 << 50), st.integers(-4095, 4095))
def test_rounding_to_pages_is_no_difference(ceiling: int, off: int) -> None:
    limits = Limits(memory_ceiling_bytes=ceiling)
    found = Effective(
        memory_ceiling_bytes=ceiling + off,
        memory_and_swap_bytes=ceiling + off,
        pids=limits.pids,
        oom_scope="process",
        enforcement="test",
    )
    assert differences(limits, found) == ()


@pytest.fixture
def live_v2(missing: Callable[[str], NoReturn]) -> Iterator[CgroupV2]:
    """A real v2 cgroup. It needs no controller to be joined, frozen and killed."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    mount = next((Path(fields[1]) for fields in mounts if fields[2] == "cgroup2"), None)
    if mount is None or not os.access(mount, os.W_OK):
        missing("a cgroup v2 hierarchy that may be written to")
    group = CgroupV2(mount / f"infranoise-test-{os.getpid()}")
    group.make()
    yield group
    group.remove()


FORKING = "echo 0 > $0; while :; do sleep 600 & sleep 0.01; done"


@pytest.mark.parametrize("strokes", ["cgroup.kill", "freezing"])
def test_a_v2_group_that_keeps_forking_is_killed_whole(
    live_v2: CgroupV2, strokes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if strokes == "freezing":  # as before Linux 5.14

        def without_kill(file: Path, text: str) -> None:
            if file.name == "cgroup.kill":
                raise FileNotFoundError(file)
            write(file, text)

        monkeypatch.setattr(cgroup_v2, "write", without_kill)
    forking = subprocess.Popen(["sh", "-c", FORKING, str(live_v2.joins()[0])])
    try:
        while len(live_v2.members()) < 4:
            assert forking.poll() is None
        assert live_v2.kill() >= 4
        assert live_v2.members() == ()
        assert forking.wait(20) == -9
    finally:
        forking.kill()
    assert (live_v2.look().cpu_s or 0) > 0
    live_v2.remove()
    live_v2.remove()
    assert not live_v2.folders()[0].exists()
