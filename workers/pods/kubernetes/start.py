"""How far a pod has come on its way to running, and when waiting for it is over. Pure."""

from dataclasses import dataclass
from typing import Literal

from ....models.errors import ImagePullFailed, PodError, PodLost, StartFailed, Unschedulable
from ....models.kube_evidence import KubeEvidence, Overdue
from ....models.kube_unstarted import IMAGE_CONFIGURATION, IMAGE_WAITS, START_ENDS, START_WAITS

Stage = Literal["schedule", "start", "running", "over"]
SCHEDULER_S = 30.0  # within which a scheduler binds a pod that some node has room for
FOR_GOOD = ("InvalidImageName", "ErrImageNeverPull", *START_WAITS)


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that each stage may last; none of them is the agent's."""

    schedule_s: float
    start_s: float

    def of(self, stage: Stage) -> float:
        """The seconds of one stage."""
        return self.schedule_s if stage == "schedule" else self.start_s

    def after(self, waited_s: float) -> "Patience":
        """What is left of it where a full quota was waited for; a scheduler has its moment."""
        left_s = max(self.schedule_s - waited_s, min(self.schedule_s, SCHEDULER_S))
        return Patience(left_s, self.start_s)


def stage(seen: KubeEvidence, *, bound: bool, running: bool) -> Stage:
    """Where a pod stands.

    Args:
        bound: it has a node.
        running: its container runs.
    """
    if seen.ended or seen.deleted or seen.vanished or _for_good(seen):
        return "over"
    if running:
        return "running"
    return "start" if bound else "schedule"


def overdue(at: Stage, seen: KubeEvidence) -> Overdue:
    """What a pod was still waiting for when its time was over."""
    if at == "schedule":
        return "schedule"
    return "image" if seen.waiting in IMAGE_WAITS else "start"


def problem(at: Stage, seen: KubeEvidence) -> PodError:
    """The error for a pod that did not come to run, with the cluster's own words."""
    if at == "schedule":
        return Unschedulable(f"no node took the pod in time: {seen.unscheduled_message}")
    words = seen.waiting_message or seen.message or "; ".join(seen.troubles) or "no reason given"
    if seen.waiting in IMAGE_WAITS:
        return ImagePullFailed(f"{seen.waiting}: {words}", reason=seen.waiting)
    if seen.waiting in START_WAITS or seen.ended_as in START_ENDS or not seen.deleted:
        return StartFailed(f"{seen.waiting or seen.ended_as or seen.reason or 'late'}: {words}")
    return PodLost(f"the pod went away before it ran: {seen.disruption or words}")


def _for_good(seen: KubeEvidence) -> bool:
    """Waiting longer will not help."""
    backing_off = seen.waiting == "ImagePullBackOff" and "no such host" not in seen.waiting_message
    wrong = backing_off and IMAGE_CONFIGURATION.search(seen.waiting_message) is not None
    return seen.waiting in FOR_GOOD or wrong
