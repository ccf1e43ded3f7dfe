"""One pod that is ordinary processes: a private tree, namespaces, and a group under limits."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Self

from ....models.counters import Counters
from ....models.egress_seen import EgressSeen
from ....models.errors import PodLost, Refused, StartFailed
from ....models.execution import KILLED, ExecResult
from ....models.limits import Effective
from ...meters.traffic import Traffic, traffic
from ...network.peer import Peer
from ...outlet.outlets import Outlets
from .. import command, owner
from ..disk_use import allocated_bytes
from ..pod import PodOrder
from . import private_tree, residue, tree_copy
from .counters import tally
from .enclosure import Enclosure
from .ground import Ground, cpus_allowed
from .group import Group
from .launcher import Request
from .plain_files import REMEDY, ROOT, normal
from .residue import Residue
from .template import Template
from .vigil import Vigil
from .way import Way
from .words import NOT_JOINED, environment, joined

DOWNLOAD_BYTES = 1 << 30
OOM_ENDED = "an OOM kill has ended it (oom_scope = pod)"
OOM_COUNT_TIMEOUT_S = 0.5


class ProcessPod:
    """One pod; made by `ProcessPods.pod`."""

    def __init__(
        self,
        order: PodOrder,
        made_from: Template,
        ground: Ground,
        peer: Peer | None = None,
        outlets: Outlets | None = None,
    ) -> None:
        self.order = order
        self._way = Way(order, peer or Peer(), outlets or Outlets())
        self._measuring = Traffic()
        self.image_id = made_from.id
        self._template, self._ground = made_from, ground
        self._name = ground.pod_name(order.attempt_id)
        self._folder = ground.state / "pods" / self._name
        self._tree = self._folder / "root"
        self._workdir = normal(ROOT / (order.workdir or made_from.workdir))
        self.root = "" if ground.enclosed else str(self._tree)
        self._group: Group | None = None
        self._enclosure: Enclosure | None = None
        self._vigil: Vigil | None = None
        self._has_folder = False
        self._baseline_bytes = 0
        self._last: Counters | None = None
        self._lost: str | None = "it was never started"

    def start(self) -> Effective:
        """As `Pod.start` says; a failed start leaves nothing."""
        try:
            return self._start()
        except (OSError, PodLost) as problem:
            self.stop()
            raise StartFailed(f"pod {self.order.attempt_id} cannot start: {problem}") from problem
        except BaseException:
            self.stop()
            raise

    def exec(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
    ) -> ExecResult:
        """As `Pod.exec` says."""
        group, vigil = self._living()
        vigil.rouse()
        try:
            result = command.run(
                joined(group.joins(), self._inside(user, cwd), argv),
                env=environment(
                    self._name, self.order, self._template.env, self._told(env), self.root
                ),
                cwd=None if self._enclosure else self._on_machine(cwd),
                cap_bytes=self.order.output_cap_bytes,
                kill=group.kill,
                timeout_s=timeout_s,
                stdin=stdin,
            )
        except OSError as problem:
            return command.not_begun(problem)
        if self.order.limits.oom_scope == "pod" and group.look().oom_kills:
            self._end(OOM_ENDED)
            return result if result.timed_out else result.model_copy(update={"exit_code": KILLED})
        self._require_intact(group, result)
        return result

    def quiesce(self) -> int:
        """As `Pod.quiesce` says; in a pod that has ended there is nobody to kill."""
        if self._group is None:
            return 0
        killed = self._group.kill()
        if self._group.members():
            raise PodLost(f"pod {self.order.attempt_id}: processes survive SIGKILL")
        return killed

    def upload(self, source: Path, target: PurePosixPath) -> None:
        """As `Pod.upload` says; PodLost where the pod's tree is this machine's own."""
        if self._ground.enclosed and self._ground.userland.hides(str(target.relative_to("/"))):
            raise PodLost(f"{target} is read-only in a process pod; upload below /opt instead")
        tree_copy.put(self._tree, source, target, self._ground.owner)

    def download(self, source: PurePosixPath, target: Path) -> bool:
        """As `Pod.download` says; this machine's own folders hold nothing to be fetched."""
        budget_bytes = self.order.limits.storage_ceiling_bytes or DOWNLOAD_BYTES
        if not self._tree.is_dir():
            raise PodLost(f"pod {self.order.attempt_id}: its files are gone")
        return tree_copy.get(self._tree, source, target, budget_bytes)

    def counters(self) -> Counters:
        """As `Pod.counters` says; of a stopped pod the last ones."""
        if self._group is None or self._vigil is None:
            if self._last is None:
                raise PodLost(f"pod {self.order.attempt_id}: {self._lost}")
            return self._last
        reading = self._group.look()
        self._vigil.note(reading)
        storage_bytes = self._vigil.check_storage()
        source, seen = self._group.enforcement, self._vigil.seen()
        passed = self._passed()
        own = passed.since(self._measuring) if passed else None
        self._last = tally(source, reading, seen, storage_bytes, own)
        return self._last

    def egress(self) -> EgressSeen | None:
        """What went through its outlet, if it has one."""
        return self._way.seen()

    def stop(self) -> None:
        """As `Pod.stop` says."""
        self._end("it was stopped")
        self._way.close()
        if self._vigil is not None:
            self._vigil.stop()
            self._vigil = None
        try:
            if self._group is not None:
                self._group.remove()
                self._group = None
        except OSError as problem:
            reason = f"pod {self.order.attempt_id}: its cgroup stays: {problem}"
            raise PodLost(reason, reason="removal") from problem
        finally:
            if self._has_folder:
                private_tree.remove(self._folder)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _start(self) -> Effective:
        self._ground.require_memory(self.order.limits.memory_floor_bytes)
        self._lost = None
        self._folder.mkdir(parents=True)
        self._has_folder = True  # before this, the folder may be another pod's
        self._group = group = self._ground.group(self._name)
        self._note()
        self._baseline_bytes = self._ground.lay_tree(self._template, self._tree, self._workdir)
        self._way.lay_names(self._folder, self._tree, self._ground.owner)
        group.make()
        effective = group.apply(self.order.limits)
        if self._ground.enclosed:
            patience_s = self.order.start_timeout_s
            self._enclosure = self._ground.launcher.open(self._request(), patience_s)
            group.follow(self._enclosure.pid)
            self._note()
            effective = self._way.opened(self._enclosure.pid, effective)
            self._measuring = self._passed() or Traffic()
        self._vigil = Vigil(
            group.look,
            storage_bytes=self._storage_bytes,
            storage_ceiling_bytes=self.order.limits.storage_ceiling_bytes,
            oom_event=group.oom_event(),
            on_storage=group.kill,
            on_oom=self._end_after_oom,
            longest_pause_s=group.look_every_s,
        )
        self._vigil.start()
        return effective.model_copy(update={"cpuset": cpus_allowed()})

    def _passed(self) -> Traffic | None:
        net_dev = None if self._enclosure is None else self._enclosure.net_dev()
        return None if net_dev is None else traffic(net_dev)

    def _told(self, env: Mapping[str, str] | None) -> dict[str, str]:
        """What a command finds beside the environment of its image and order."""
        return self._way.env() | dict(env or {})

    def _note(self) -> None:
        folders = self._group.folders() if self._group else ()
        noted = Residue(
            attempt_id=self.order.attempt_id,
            expires_at=self.order.expires_at,
            owner=owner.owner(),
            cgroups=tuple(map(str, folders)),
            first="" if self._enclosure is None else owner.owner(self._enclosure.pid),
        )
        residue.write(self._folder, noted)

    def _request(self) -> Request:
        userland = self._ground.userland
        return Request(
            root=str(self._tree),
            workdir=str(self._workdir),
            binds=list(userland.binds),
            devices=list(userland.devices),
            network=self.order.network == "public",
            ids=self._ground.ids,
        )

    def _living(self) -> tuple[Group, Vigil]:
        if self._enclosure is not None and not self._enclosure.alive() and self._lost is None:
            self._lost = "its PID 1 died"
        if self._lost or self._group is None or self._vigil is None:
            by_oom = self._lost == OOM_ENDED
            raise PodLost(
                f"pod {self.order.attempt_id} is gone: {self._lost}",
                reason="oom_killed" if by_oom else "removed",
                oom_killed=by_oom,
            )
        return self._group, self._vigil

    def _require_intact(self, group: Group, result: ExecResult) -> None:
        """See that the command had its pod from beginning to end."""
        if self._enclosure is not None and not self._enclosure.alive():
            raise PodLost(f"pod {self.order.attempt_id}: its PID 1 died during a command")
        if result.exit_code == NOT_JOINED and not all(file.exists() for file in group.joins()):
            raise PodLost(f"pod {self.order.attempt_id}: its cgroup was removed by someone else")

    def _inside(self, user: str | None, cwd: str | None) -> tuple[str, ...]:
        identity = self._identity(user)
        return self._enclosure.enter(identity, cwd) if self._enclosure else ()

    def _on_machine(self, cwd: str | None) -> Path:
        return self._tree.joinpath(*normal(ROOT / (cwd or self._workdir)).parts[1:])

    def _identity(self, user: str | None) -> tuple[int, int] | None:
        if user in (None, "root", "0"):
            return None
        if self._ground.ids[2] == 1 or not self._ground.enclosed:
            raise Refused(f"user {user}: a process pod of an ordinary user has only root; {REMEDY}")
        return private_tree.identity(self._tree, str(user))

    def _storage_bytes(self) -> int:
        return max(0, allocated_bytes([self._tree]) - self._baseline_bytes)

    def _end_after_oom(self) -> None:
        """End a pod whose scope says so.

        The kernel tells of an OOM before it kills; killing first would hide its count.
        """
        if self.order.limits.oom_scope != "pod":
            return
        deadline = time.monotonic() + OOM_COUNT_TIMEOUT_S
        while self._group is not None and self._lost is None and time.monotonic() < deadline:
            if self._group.look().oom_kills:
                self._end(OOM_ENDED)
                return
            time.sleep(0.001)

    def _end(self, why: str) -> None:
        """Kill everything; the files and the counts stay until `stop`."""
        self._lost = self._lost or why
        if self._enclosure is not None:
            self._enclosure.kill()
        if self._group is not None:
            self._group.kill()
