"""A container seen from its host: control groups of both versions, and the disk it fills."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from infranoise.workers.pods.docker import layer as docker_layer
from infranoise.workers.pods.docker.cgroup import HostCgroup, InForce, of_process
from infranoise.workers.pods.docker.layer import Layer

V1 = """12:pids:/docker/f00
11:memory:/docker/f00
5:cpu,cpuacct:/docker/f00
1:name=systemd:/docker/f00
0::/
"""
V2 = "0::/system.slice/docker-f00.scope\n"
MIB = 1024**2


def machine(root: Path, listing: str, files: dict[str, str]) -> HostCgroup | None:
    """A fake /proc with one process, and a fake cgroup mount with these files."""
    (root / "proc" / "7").mkdir(parents=True)
    (root / "proc" / "7" / "cgroup").write_text(listing)
    for name, text in files.items():
        (root / "cgroup" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "cgroup" / name).write_text(text)
    return of_process(7, "f00", proc=root / "proc", mount=root / "cgroup")


def test_version_1_lies_in_a_folder_per_controller(tmp_path: Path) -> None:
    group = machine(
        tmp_path,
        V1,
        {
            "memory/docker/f00/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
            "memory/docker/f00/memory.limit_in_bytes": f"{64 * MIB}\n",
            "memory/docker/f00/memory.memsw.limit_in_bytes": f"{96 * MIB}\n",
            "memory/docker/f00/memory.soft_limit_in_bytes": "9223372036854771712\n",
            "memory/docker/f00/cgroup.procs": "7\n9\n",
            "cpu/docker/f00/cpu.cfs_quota_us": "150000\n",
            "cpu/docker/f00/cpu.cfs_period_us": "100000\n",
            "cpu/docker/f00/cpu.shares": "512\n",
            "pids/docker/f00/pids.max": "max\n",
        },
    )
    assert group is not None
    assert (group.version, group.oom_kills(), group.pids()) == (1, 3, [7, 9])
    assert group.pids_but({7}) == [9]
    assert group.in_force() == InForce(
        memory_floor_bytes=None,
        memory_ceiling_bytes=64 * MIB,
        memory_and_swap_bytes=96 * MIB,
        cpu_shares=512,
        cpu_ceiling=1.5,
        cpuset=None,
        pids=None,
    )


def test_version_2_lies_in_one_folder(tmp_path: Path) -> None:
    scope = "system.slice/docker-f00.scope"
    group = machine(
        tmp_path,
        V2,
        {
            f"{scope}/memory.events": "low 0\nhigh 0\nmax 9\noom 2\noom_kill 2\n",
            f"{scope}/memory.max": f"{64 * MIB}\n",
            f"{scope}/memory.swap.max": "0\n",
            f"{scope}/memory.low": f"{32 * MIB}\n",
            f"{scope}/cpu.max": "max 100000\n",
            f"{scope}/cpuset.cpus.effective": "0-1\n",
            f"{scope}/pids.max": "128\n",
            f"{scope}/cgroup.procs": "7\n",
        },
    )
    assert group is not None
    assert (group.version, group.oom_kills(), group.read().oom_kills) == (2, 2, 2)
    assert group.in_force() == InForce(
        memory_floor_bytes=32 * MIB,
        memory_ceiling_bytes=64 * MIB,
        memory_and_swap_bytes=64 * MIB,
        cpu_shares=None,
        cpu_ceiling=None,
        cpuset="0-1",
        pids=128,
    )


@pytest.mark.parametrize(
    "listing", ["0::/system.slice/other.scope\n", "0::/../../docker-f00.scope\n", ""]
)
def test_a_process_that_is_not_the_containers_is_not_taken_for_it(
    tmp_path: Path, listing: str
) -> None:
    assert machine(tmp_path, listing, {}) is None


def test_a_container_that_is_gone_has_no_group(tmp_path: Path) -> None:
    assert of_process(7, "f00", proc=tmp_path, mount=tmp_path) is None


# --- disk ---


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A clock that stands still until it is moved."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def forward(seconds: float) -> None:
        now[0] += seconds

    return forward


def test_a_layer_outgrows_its_ceiling_once(tmp_path: Path, clock: Callable[[float], None]) -> None:
    layer = Layer([tmp_path], 1_000_000)
    assert not layer.outgrown()
    (tmp_path / "big").write_bytes(bytes(2_000_000))
    clock(docker_layer.LONGEST_UNSEEN_S + 1)
    assert layer.outgrown()
    assert layer.exceeded
    assert not layer.outgrown()


def test_a_layer_is_not_counted_while_the_disk_has_not_filled_by_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Callable[[float], None]
) -> None:
    filled = [0]
    monkeypatch.setattr(Layer, "_filled_bytes", lambda self: filled[0])
    layer, walks = Layer([tmp_path], 1_000_000), []

    def walk(_: Layer) -> int:
        walks.append(filled[0])
        return 100_000

    monkeypatch.setattr(Layer, "used_bytes", walk)
    for step in (0, 800_000, 899_999):
        filled[0] = step
        layer.outgrown()
    filled[0] = 900_001
    layer.outgrown()
    assert walks == [0, 900_001]
    clock(docker_layer.LONGEST_UNSEEN_S + 1)  # a neighbour may have freed what this one took
    layer.outgrown()
    assert len(walks) == 3


def test_without_a_ceiling_nothing_is_counted(tmp_path: Path) -> None:
    assert not Layer([tmp_path], None).outgrown()
    assert Layer.readable([tmp_path])
    assert not Layer.readable([])
    assert not Layer.readable([tmp_path / "nowhere"])
