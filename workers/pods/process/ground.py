"""What this machine offers to process pods: surveyed once per worker."""

import os
import secrets
import shutil
import threading
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Self

from ....models.errors import StartFailed, Unschedulable
from ...network.shaping import why_no_links
from ..disk_use import allocated_bytes
from . import enforcement, private_tree, userland
from .enclosure import Launcher, id_map
from .enforcement import Enforcement, Grounds
from .group import Group
from .launcher import Request
from .private_tree import slug
from .template import Template
from .tree_steps import Owner
from .userland import Userland
from .watchdog import Watchdog

PROBE_TIMEOUT_S = 20.0
PROGRAMS = ("nsenter", "setpriv", "setsid")  # what takes a command into its pod


@dataclass(slots=True)
class Ground:
    """Where pods stand. `unenclosed_because` is None when pods get namespaces."""

    state: Path
    grounds: Grounds
    userland: Userland
    ids: tuple[int, int, int]
    launcher: Launcher
    unenclosed_because: str | None = None
    _mark: str = field(default_factory=lambda: secrets.token_hex(4))
    _baselines: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def survey(
        cls, state: Path, *, forced: Enforcement | None = None, namespaces: bool = True
    ) -> Self:
        """Look at this machine.

        Args:
            forced: take this rung of the enforcement ladder and no other.
            namespaces: False goes without, as on a kernel that refuses them.

        Raises:
            StartFailed: the forced rung does not carry here.
        """
        ids = id_map(os.geteuid(), os.getegid(), Path("/proc/self/uid_map").read_text())
        grounds, shown = enforcement.choose(forced), userland.of_host()
        ground = cls(state, grounds, shown, ids, Launcher())
        ground.unenclosed_because = ground._probe() if namespaces else "they were not wanted"
        return ground

    @property
    def enclosed(self) -> bool:
        """Whether pods get namespaces."""
        return self.unenclosed_because is None

    @property
    def owner(self) -> Owner | None:
        """Who owns a pod's files; None: we ourselves, as there is no other id to give."""
        return self._lent() if self.enclosed else None

    def require_memory(self, floor_bytes: int | None) -> None:
        """Refuse a floor that this machine cannot give; raises Unschedulable."""
        has_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if floor_bytes is not None and floor_bytes > has_bytes:
            raise Unschedulable(
                f"the memory floor of {floor_bytes} bytes is more than the {has_bytes} bytes of "
                "this machine; lower the floor, or run this band on a larger node",
                memory_floor_bytes=floor_bytes,
                memory_host_bytes=has_bytes,
            )

    def pod_name(self, attempt_id: str) -> str:
        """What no other pod of this machine is called, and a second one of this attempt here is.

        Two runs of one experiment have attempts of the same names, each a worker of its own.
        """
        return f"{slug(attempt_id)}-{self._mark}"

    def group(self, pod: str) -> Group:
        """The group of a pod that is called so, not yet made."""
        if self.grounds.enforcement == "watchdog":
            return Watchdog(pod)
        return self.grounds.group(f"infranoise-{pod}")

    def lay_tree(self, made_from: Template, tree: Path, workdir: PurePosixPath) -> int:
        """Make a pod's tree; the disk space (bytes) that it takes before the pod runs."""
        tree.mkdir()
        private_tree.furnish(tree, self.userland, self.owner)
        private_tree.settle(tree, made_from.root, workdir, self.owner)
        key = f"{made_from.id} {workdir}"
        with self._lock:
            if key not in self._baselines:
                self._baselines[key] = allocated_bytes([tree])
            return self._baselines[key]

    def facts(self) -> dict[str, str | int | float | bool | None]:
        """What to say of process pods here; the keys go on the node profile."""
        rung = self.grounds.enforcement
        return {
            "runtime": "process",
            "enforcement": rung,
            "cgroup_version": {"cgroup-v1": 1, "watchdog": None}.get(rung, 2),
            "controllers": ",".join(name for name, _ in self.grounds.parents if name) or None,
            "namespaces": self.enclosed,
            "no_namespaces_because": self.unenclosed_because,
            "own_user_ids": self.ids[2] > 1,
            "benchexec_version": version("benchexec"),
            "cannot": "; ".join(self._cannot()) or None,
        }

    def _cannot(self) -> list[str]:
        lacks = ["build images"]
        if why := why_no_links():
            lacks += [f"shape egress ({why})"]
        if not self.enclosed:
            lacks += ["hide the machine's files and processes", "count network bytes"]
        if self.ids[2] == 1 or not self.enclosed:
            lacks += ["run as another user than root"]
        if self.grounds.enforcement == "watchdog":
            lacks += ["limit cpu or pids", "see spikes shorter than a poll"]
        return lacks

    def _lent(self) -> Owner | None:
        return Owner(*self.ids[:2]) if self.ids[2] > 1 else None

    def _probe(self) -> str | None:
        """Open an enclosure for a moment; why that fails, None if it does not."""
        lacking = [program for program in PROGRAMS if shutil.which(program) is None]
        if lacking:
            return f"{', '.join(lacking)} missing; install util-linux"
        tree = self.state / "pods" / f"probe-{os.getpid()}"
        try:
            tree.mkdir(parents=True)
            private_tree.furnish(tree, self.userland, self._lent())
            binds, devices = list(self.userland.binds), list(self.userland.devices)
            request = Request(
                root=str(tree),
                workdir="/",
                binds=binds,
                devices=devices,
                network=False,
                ids=self.ids,
            )
            self.launcher.open(request, PROBE_TIMEOUT_S).kill()
        except (OSError, StartFailed) as problem:
            return str(problem)
        finally:
            private_tree.remove(tree)
        return None


def cpus_allowed(status: Path = Path("/proc/self/status")) -> str | None:
    """The CPUs that we, and so our pods, may run on, as the kernel lists them ("0-3,8")."""
    rows = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
    return rows.get("Cpus_allowed_list", "").strip() or None
