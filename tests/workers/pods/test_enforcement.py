"""The ladder: which rung is taken, what each asks of the machine. No cgroup v2 is needed."""

import os
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from infranoise.models.errors import StartFailed
from infranoise.workers.pods.process import enforcement
from infranoise.workers.pods.process.cgroup_v1 import CgroupV1
from infranoise.workers.pods.process.cgroup_v2 import CgroupV2
from infranoise.workers.pods.process.enclosure import id_map
from infranoise.workers.pods.process.enforcement import Enforcement, Grounds, adoption, choose
from infranoise.workers.pods.process.ground import cpus_allowed

LADDER: tuple[Enforcement, ...] = ("cgroup-v1", "cgroup-v2", "systemd-scope")
RUNGS = {"cgroup-v1": "v1_grounds", "cgroup-v2": "v2_grounds", "systemd-scope": "scope_grounds"}


@pytest.fixture
def carrying(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Say which rungs carry."""

    def carry(*names: str) -> None:
        for name in LADDER:
            grounds = Grounds(name, (("memory", Path("/x")),)) if name in names else None
            monkeypatch.setattr(enforcement, RUNGS[name], lambda grounds=grounds: grounds)

    return carry


@pytest.mark.parametrize(
    ("carries", "taken"),
    [
        (LADDER, "cgroup-v1"),
        (("cgroup-v2", "systemd-scope"), "cgroup-v2"),
        (("systemd-scope",), "systemd-scope"),
        ((), "watchdog"),
    ],
)
def test_the_best_rung_that_carries_is_taken(
    carrying: Callable[..., None], carries: tuple[str, ...], taken: str
) -> None:
    carrying(*carries)
    assert choose().enforcement == taken


def test_a_forced_rung_is_taken_or_told(carrying: Callable[..., None]) -> None:
    carrying("cgroup-v1", "systemd-scope")
    assert choose("systemd-scope").enforcement == "systemd-scope"
    assert choose("watchdog").enforcement == "watchdog"
    with pytest.raises(StartFailed, match="cgroup-v2"):
        choose("cgroup-v2")


def test_a_pod_s_cgroups_lie_below_the_grounds() -> None:
    v1 = Grounds("cgroup-v1", (("memory", Path("/m/us")), ("cpu", Path("/c")))).group("pod")
    assert isinstance(v1, CgroupV1)
    assert v1.folders() == (Path("/m/us/pod"), Path("/c/pod"))
    v2 = Grounds("systemd-scope", (("", Path("/u")),)).group("pod")
    assert isinstance(v2, CgroupV2)
    assert (v2.folders(), v2.enforcement) == ((Path("/u/pod"),), "systemd-scope")


def test_controllers_in_one_hierarchy_are_one_folder() -> None:
    both = Grounds("cgroup-v1", (("cpu", Path("/c")), ("cpuacct", Path("/c")))).group("pod")
    assert both.folders() == (Path("/c/pod"),)
    assert both.joins() == (Path("/c/pod/cgroup.procs"),)


def test_systemd_is_asked_to_adopt_this_process_with_delegation() -> None:
    """Signature and order as in org.freedesktop.systemd1(5), StartTransientUnit."""
    words = adoption(4711)
    assert words[:3] == ("busctl", "--user", "call")
    assert words[words.index("StartTransientUnit") + 1 :] == (
        *("ssa(sv)a(sa(sv))", "infranoise-4711.scope", "fail"),
        *("2", "PIDs", "au", "1", "4711", "Delegate", "b", "true"),
        "0",
    )


def test_a_scope_that_systemd_refuses_is_no_grounds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def refuse(argv: tuple[str, ...], **_: object) -> CompletedProcess[bytes]:
        asked.append(argv)
        return CompletedProcess(argv, 1)

    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/busctl")
    monkeypatch.setattr("subprocess.run", refuse)
    assert enforcement.scope_grounds() is None
    assert asked == [adoption(os.getpid())]
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert enforcement.scope_grounds() is None
    assert len(asked) == 1


def test_root_makes_a_place_of_its_own_and_proves_it(tmp_path: Path) -> None:
    """A folder plays the hierarchy: nothing puts memory.max into a group, so it proves nothing."""
    (tmp_path / "cgroup.subtree_control").touch()
    assert enforcement.root_grounds(tmp_path) is None
    assert (tmp_path / "infranoise").is_dir()
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"
    assert [path.name for path in (tmp_path / "infranoise").iterdir()] == ["cgroup.subtree_control"]


@pytest.mark.parametrize(
    ("euid", "uid_map", "lent"),
    [
        (0, "         0          0 4294967295\n", 65_536),
        (0, "         0          0          1\n", 1),
        (0, "0 100000 65536\n", 1),  # root of a rootless container
        (1000, "0 0 4294967295\n", 1),
    ],
)
def test_only_real_root_lends_ids(euid: int, uid_map: str, lent: int) -> None:
    first, _, count = id_map(euid, 7, uid_map)
    assert count == lent
    assert first == (euid if lent == 1 else 1_900_000_000)


def test_the_cpus_that_we_may_use_are_read_as_the_kernel_lists_them(tmp_path: Path) -> None:
    (tmp_path / "status").write_text("Name:\tx\nCpus_allowed:\t0f\nCpus_allowed_list:\t0-3,8\n")
    assert cpus_allowed(tmp_path / "status") == "0-3,8"
    (tmp_path / "status").write_text("Name:\tx\n")
    assert cpus_allowed(tmp_path / "status") is None
