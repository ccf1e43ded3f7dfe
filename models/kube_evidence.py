"""What a Kubernetes cluster told of one pod: facts, never an opinion.

Cluster times are Unix seconds by the cluster's own clock, whose grain is one second. An empty text
says that the cluster did not say it.
"""

from typing import Annotated, Literal

from pydantic import Field

from .tri import Tri
from .value import Value

# What a pod says of itself may be anything: whoever ran in it could write it.
Count = Annotated[int, Field(ge=0, le=1 << 53)]
Moment = Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)]
Intent = Literal["", "cancelled", "cleanup"]
Overdue = Literal["", "schedule", "image", "start"]


class WrapperReport(Value):
    """What the pod's own PID 1 counted in its control group, told in the termination message.

    `rc` is the exit code that it ended with. `wall_*` are Unix seconds by the node's clock, `up_*`
    seconds since the node's boot, at the beginning and the end of its own life. Kills are judged by
    `oom_kill` alone: `failcnt` may stay 0 and a peak below its limit although the kernel killed.
    """

    rc: Annotated[int, Field(ge=0, le=255)] | None = None
    oom_kills_before: Count | None = None
    oom_kills_after: Count | None = None
    peak_bytes: Count | None = None
    wall_before: Moment | None = None
    wall_after: Moment | None = None
    up_before: Moment | None = None
    up_after: Moment | None = None

    @property
    def lived_s(self) -> float | None:
        """How long the pod ran, to a hundredth; the API tells whole seconds alone."""
        if self.up_before is None or self.up_after is None:
            return None
        return self.up_after - self.up_before

    @property
    def oom_kills(self) -> int | None:
        """OOM kills during the pod's life; None where the counter could not be read."""
        if self.oom_kills_after is None:
            return None
        return max(0, self.oom_kills_after - (self.oom_kills_before or 0))


class NodeSeen(Value):
    """The pod's node when the pod ended. `exists`: whether the API still has its object.

    `pressures` are the conditions of want that held then, such as MemoryPressure.
    """

    name: str = ""
    exists: Tri = "unknown"
    ready: Tri = "unknown"
    taints: tuple[str, ...] = ()
    pressures: tuple[str, ...] = ()

    @property
    def lost(self) -> bool:
        """The node is gone, silent, or tainted as such; False where nothing is known of it."""
        away = any(key.endswith(("/unreachable", "/not-ready")) for key in self.taints)
        return self.exists == "no" or (self.exists == "yes" and self.ready != "yes") or away


class KubeEvidence(Value):
    """Everything that API, events and wrapper told of one pod.

    `reason` and `message` are the pod's own, `disruption` the reason of its DisruptionTarget
    condition; `disrupted_at` is when someone first asked for its end. `deleted` is a deletion that
    is not ours; `vanished`: the object went without a terminal status. `exit_code` and `ended_as`
    are the container's; `oom_reason`: OOMKilled was told, now or for an earlier life. `intent` is
    why we deleted it ourselves. `overdue` names the phase that outlasted its time; `floor_fits`
    whether some node's allocatable would hold the floor. `troubles` are warning events, as
    "Reason: message".
    """

    uid: str = ""
    phase: str = ""
    reason: str = ""
    message: str = ""
    disruption: str = ""
    disruption_message: str = ""
    disrupted_at: float | None = None
    deleted: bool = False
    vanished: bool = False
    unscheduled: str = ""
    unscheduled_message: str = ""
    waiting: str = ""
    waiting_message: str = ""
    exit_code: int | None = None
    ended_as: str = ""
    finished_at: float | None = None
    oom_reason: bool = False
    restarts: int = 0
    report: WrapperReport | None = None
    intent: Intent = ""
    overdue: Overdue = ""
    quota: str = ""
    floor_fits: Tri = "unknown"
    node: NodeSeen = NodeSeen()
    troubles: tuple[str, ...] = ()
    verdict_at: float | None = None

    @property
    def oom_killed(self) -> bool:
        """Some source tells of an OOM kill in the container; either alone may miss one."""
        counted = self.report.oom_kills if self.report else None
        return self.oom_reason or bool(counted)

    @property
    def ended(self) -> bool:
        """The container, or the whole pod, has come to an end that was not our doing.

        One that was started again has: what runs now knows nothing of the trial.
        """
        over = self.exit_code is not None or self.phase in ("Succeeded", "Failed")
        return over or self.restarts > 0
