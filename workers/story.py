"""What has been observed of an attempt so far: phases, clocks, counters, faults."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..models.api_call import ApiUse
from ..models.counters import Counters
from ..models.egress_seen import EgressSeen
from ..models.errors import PodLost
from ..models.evidence import Fault, Phase, PhaseName, Tri
from ..models.execution import ExecResult
from ..models.kube_evidence import KubeEvidence
from ..models.limits import Effective
from .harness.reward import Reward
from .meters.room import full
from .pods.pod import Pod, Whereabouts


@dataclass(slots=True)
class Story:
    """Grows while an attempt lives; becomes its record at the end.

    `began_at` is when its message was received, Unix seconds. `ended`: every phase came to its end
    before anyone withdrew the attempt. `verdict_at` is when the verdict was read, Unix seconds;
    `kube` what a cluster told of the pod, and `whereabouts` what it gave it. `disks` are the
    node's, `disk_full` whether one was ever seen full. `api` is what the gateway told of the
    model's API, `egress` what the pod did through its way out; `files` are the agent's own, by
    name.
    """

    began_at: float = 0.0
    disks: tuple[Path, ...] = ()
    disk_full: bool | None = None
    phases: list[Phase] = field(default_factory=list)
    fault: Fault | None = None
    reward: Reward = field(default_factory=Reward)
    answered: Tri = "unknown"
    agent_fault: str = ""
    harness_fault: str = ""
    teardown_fault: str = ""
    effective: Effective | None = None
    counters: Counters | None = None
    clocks: dict[str, float] = field(default_factory=dict)
    logs: dict[str, ExecResult] = field(default_factory=dict)
    image_id: str = ""
    deadline_exceeded: bool = False
    ended: bool = False
    verdict_at: float | None = None
    kube: KubeEvidence | None = None
    whereabouts: Whereabouts | None = None
    api: ApiUse | None = None
    api_fault: str = ""
    egress: EgressSeen | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)

    @property
    def age_s(self) -> float:
        """Seconds since it began, whatever the clock on the wall was set to meanwhile."""
        return time.monotonic() - self._since

    @contextmanager
    def clock(self, name: str) -> Iterator[None]:
        """Add the seconds inside to one of the attempt's clocks."""
        since = time.monotonic()
        try:
            yield
        finally:
            self.clocks[name] = self.clocks.get(name, 0.0) + time.monotonic() - since

    @contextmanager
    def phase(self, pod: Pod, name: PhaseName, *, keep: bool = False) -> Iterator["Ended"]:
        """Tell one phase: time it, stop what it leaves running, read the counters from outside.

        With `keep` only a command that was cut off is stopped. A pod that is lost inside ends the
        phase with that fact; `broken_off` is then true.
        """
        ended, since = Ended(), time.monotonic()
        try:
            yield ended
        except PodLost as lost:
            ended.lost = str(lost)
        ended.wall_s = self.clocks[f"{name}_s"] = time.monotonic() - since
        cut_off = ended.result is not None and ended.result.timed_out
        self._close(pod, name, ended, stop=cut_off or not keep)

    @property
    def broken_off(self) -> bool:
        """Whether the pod was lost in the last phase."""
        return bool(self.phases and self.phases[-1].lost)

    def look_at_disks(self) -> None:
        """Note whether a disk of the node has no room now."""
        now = full(self.disks)
        self.disk_full = now if self.disk_full is None else self.disk_full or bool(now)

    def _close(self, pod: Pod, name: PhaseName, ended: "Ended", *, stop: bool) -> None:
        self.look_at_disks()
        before, left_behind = self.counters, 0
        try:
            left_behind = pod.quiesce() if stop else 0
        except PodLost as lost:
            ended.lost = ended.lost or str(lost)
        try:
            self.counters = pod.counters()
        except PodLost as lost:
            ended.lost = ended.lost or str(lost)
        if ended.result is not None:
            self.logs[name] = ended.result
        self.phases.append(_told(name, ended, before, self.counters, left_behind))


@dataclass(slots=True)
class Ended:
    """How a phase's command ended; filled in by who ran it."""

    result: ExecResult | None = None
    wall_s: float = 0.0
    lost: str = ""


def _told(
    name: PhaseName,
    ended: Ended,
    before: Counters | None,
    now: Counters | None,
    left_behind: int,
) -> Phase:
    result = ended.result
    return Phase(
        name=name,
        exit_code=result.exit_code if result else None,
        timed_out=bool(result and result.timed_out),
        wall_s=result.wall_s if result else ended.wall_s,
        oom_kills=_kills_since(before, now),
        left_behind=left_behind,
        lost=ended.lost,
        counters=now,
    )


def _kills_since(before: Counters | None, now: Counters | None) -> int | None:
    if now is None or now.oom_kills is None:
        return None
    return now.oom_kills - ((before.oom_kills or 0) if before else 0)
