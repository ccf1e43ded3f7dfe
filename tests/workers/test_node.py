from pathlib import Path

import pytest

from infranoise.models.node import NodeProfile
from infranoise.workers.meters.procfs import Files
from infranoise.workers.node import cgroup_version, filesystem, node_profile

CPUINFO = "processor : 0\nmodel name : Fast: CPU\nbogomips : 5192.26\n\nprocessor : 1\n"


def write(root: Path, files: dict[str, str]) -> Files:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Files(root)


def two_cores_of_two_threads() -> dict[str, str]:
    topology = "sys/devices/system/cpu/cpu{}/topology/{}"
    return {
        topology.format(cpu, name): str(number)
        for cpu in range(4)
        for name, number in (("core_id", cpu // 2), ("physical_package_id", 0))
    }


def test_a_profile_says_what_the_kernel_says(tmp_path: Path) -> None:
    files = write(
        tmp_path,
        {
            "proc/cpuinfo": CPUINFO,
            "proc/meminfo": "MemTotal: 2049 kB\nSwapTotal: 0 kB\n",
            "proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
            "etc/os-release": 'NAME=x\nPRETTY_NAME="Some Linux 1"\n',
            "sys/devices/system/node/node0/cpulist": "0-3",
            "sys/devices/system/cpu/cpu0/cache/index0/level": "1",
            "sys/devices/system/cpu/cpu0/cache/index0/size": "64K",
            "sys/devices/system/cpu/cpu0/cache/index3/level": "3",
            "sys/devices/system/cpu/cpu0/cache/index3/size": "32M",
            **two_cores_of_two_threads(),
        },
    )
    profile = node_profile({"docker": "20.10"}, files)
    assert (profile.cpu_cores, profile.cpu_threads, profile.cpu_sockets) == (2, 4, 1)
    assert (profile.cpu_model, profile.cpu_max_mhz) == ("Fast: CPU", 2600)
    assert profile.cpu_cache_bytes == 32 * 1024**2
    assert (profile.memory_bytes, profile.swap_bytes) == (2 * 1024**2, 0)
    assert (profile.system, profile.numa_nodes) == ("Some Linux 1", 1)
    assert profile.cgroup_version == 2
    assert profile.runtimes["docker"] == "20.10"
    assert "python" in profile.runtimes


def test_a_stated_top_frequency_beats_the_nominal_one(tmp_path: Path) -> None:
    frequency = "sys/devices/system/cpu/cpu{}/cpufreq/cpuinfo_max_freq"
    files = write(
        tmp_path,
        {"proc/cpuinfo": CPUINFO, frequency.format(0): "3100000", frequency.format(1): "4700000"},
    )
    assert node_profile(files=files).cpu_max_mhz == 4700


def test_a_node_that_tells_nothing_still_has_a_profile(tmp_path: Path) -> None:
    profile = node_profile(files=Files(tmp_path))
    assert (profile.cpu_model, profile.memory_bytes, profile.cgroup_version) == (None, None, None)


def test_this_node_reads_the_same_twice() -> None:
    assert node_profile() == node_profile()
    assert node_profile().memory_bytes


def test_equal_profiles_have_equal_hashes_and_others_do_not() -> None:
    one = NodeProfile(architecture="x", kernel="6", runtimes={"a": "1", "b": "2"})
    other = NodeProfile(kernel="6", architecture="x", runtimes={"b": "2", "a": "1"})
    assert one.profile_hash == other.profile_hash
    assert one.profile_hash != one.model_copy(update={"kernel": "7"}).profile_hash
    assert NodeProfile.model_validate_json(one.model_dump_json()).profile_hash == one.profile_hash


V1 = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"
HYBRID = "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n" + V1
NO_MEMORY_IN_V1 = "cgroup /c/cpu cgroup rw,cpu 0 0\ncgroup2 /c cgroup2 rw 0 0\n"
VERSIONS = [
    (V1, 1),
    (HYBRID, 1),
    ("cgroup2 /c cgroup2 rw 0 0\n", 2),
    (NO_MEMORY_IN_V1, 2),
    ("proc /proc proc rw 0 0\n", None),
    ("", None),
]


@pytest.mark.parametrize(("mounts", "version"), VERSIONS)
def test_the_cgroup_version_is_where_the_memory_controller_is(
    tmp_path: Path, mounts: str, version: int | None
) -> None:
    assert cgroup_version(write(tmp_path, {"proc/mounts": mounts})) == version


def test_a_path_lies_on_the_deepest_and_last_mount(tmp_path: Path) -> None:
    mounts = "a / ext4 rw 0 0\nb /var xfs rw 0 0\nc /var tmpfs rw 0 0\nd /va btrfs rw 0 0\n"
    files = write(tmp_path, {"proc/mounts": mounts})
    assert filesystem(files, Path("/var/lib")) == "tmpfs"
    assert filesystem(files, Path("/home")) == "ext4"
