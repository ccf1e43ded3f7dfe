"""What a cluster's evidence means: one row a line, from the outside in, the first that fits.

The rows stand before the rules of `classify`, which judge what no row decides. A detail begins with
the row's sub-cause, so that evictions by a drain, by a pressed node and by the pod's own storage
ceiling stay apart. `passed` needs a verifier's verdict: a pod's phase never is one.
"""

import re

from .evidence import Evidence
from .execution import KILLED
from .kube_evidence import KubeEvidence
from .outcome import OomPlace
from .rule import Rule, solved, verifier_has_spoken

LOST_REASONS = ("NodeLost", "Shutdown", "Terminated", "NodeShutdown")
REFUSED_BY_KUBELET = (
    "OutOfcpu",
    "OutOfmemory",
    "OutOfpods",
    "OutOfephemeral-storage",
    "UnexpectedAdmissionError",
    "NodeAffinity",
    "PodOSNotSupported",
)
STORAGE_CEILING = re.compile(
    r"Usage of EmptyDir volume .* exceeds|ephemeral local storage usage exceeds"
    r"|exceeded its local ephemeral storage limit"
)
LOW_RESOURCE = re.compile(r"The node was low on resource: ([\w.-]+?)\.?(?:\s|$)")
IMAGE_WAITS = (
    "ErrImagePull",
    "ImagePullBackOff",
    "ErrImageNeverPull",
    "InvalidImageName",
    "ImageInspectError",
)
START_WAITS = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
START_ENDS = ("StartError", "ContainerCannotRun")
# A name that nobody can pull, or may not: the words of registries and of the kubelet.
IMAGE_CONFIGURATION = re.compile(
    r"not found|manifest unknown|does not exist|unauthorized|denied|\b401\b|\b403\b", re.IGNORECASE
)
SANDBOX_NETWORK = re.compile(r"FailedCreatePodSandBox.*(cni|network)", re.IGNORECASE)


def _kube(evidence: Evidence) -> KubeEvidence:
    assert evidence.kube is not None  # rows are asked of a cluster's pods only
    return evidence.kube


def _decided_before(evidence: Evidence) -> bool:
    """The verdict was complete before anyone asked for the pod's end."""
    kube = _kube(evidence)
    at = kube.finished_at if kube.verdict_at is None else kube.verdict_at
    if not verifier_has_spoken(evidence) or at is None:
        return False
    if kube.disrupted_at is None:
        return not (kube.disruption or kube.deleted or kube.vanished)
    return at < kube.disrupted_at


def _disrupted(evidence: Evidence, reason: str) -> bool:
    return _kube(evidence).disruption == reason and not _decided_before(evidence)


def _preempted(evidence: Evidence) -> bool:
    told = _kube(evidence).reason == "Preempting" and not _decided_before(evidence)
    return told or _disrupted(evidence, "PreemptionByScheduler")


def _by_taint_of_a_lost_node(evidence: Evidence) -> bool:
    return _disrupted(evidence, "DeletionByTaintManager") and _kube(evidence).node.lost


def _node_gone(evidence: Evidence) -> bool:
    kube = _kube(evidence)
    invented = kube.ended_as == "ContainerStatusUnknown" and kube.reason != "Evicted"
    told = kube.reason in LOST_REASONS or invented
    return (told and not _decided_before(evidence)) or _disrupted(evidence, "DeletionByPodGC")


def _evicted_with(evidence: Evidence, words: re.Pattern[str]) -> bool:
    kube = _kube(evidence)
    told = kube.reason == "Evicted" and words.search(kube.message) is not None
    return told and not _decided_before(evidence)


def _pressed(evidence: Evidence) -> str:
    found = LOW_RESOURCE.search(_kube(evidence).message)
    return f"node_pressure:{found[1] if found else 'unknown'}"


def _unscheduled(evidence: Evidence) -> bool:
    kube = _kube(evidence)
    return kube.overdue == "schedule" and bool(kube.unscheduled or kube.quota)


def _why_unscheduled(evidence: Evidence) -> str:
    kube = _kube(evidence)
    where = "config_error" if kube.floor_fits == "no" else "no_room"
    return f"{where}: {kube.unscheduled_message or kube.quota}"


def _why_no_image(evidence: Evidence) -> str:
    kube = _kube(evidence)
    own = kube.waiting in ("InvalidImageName", "ErrImageNeverPull")
    theirs = "no such host" in kube.waiting_message
    wrong = own or (not theirs and IMAGE_CONFIGURATION.search(kube.waiting_message))
    return f"{'configuration' if wrong else 'infrastructure'}: {kube.waiting_message}"


def _not_started(evidence: Evidence) -> bool:
    kube = _kube(evidence)
    slow = kube.overdue == "start" or (kube.overdue == "image" and not kube.waiting)
    return kube.waiting in START_WAITS or kube.ended_as in START_ENDS or slow


def _why_not_started(evidence: Evidence) -> str:
    kube = _kube(evidence)
    network = any(SANDBOX_NETWORK.search(trouble) for trouble in kube.troubles)
    words = kube.waiting_message or "; ".join(kube.troubles) or "it did not start in time"
    return f"{'network' if network else kube.waiting or kube.ended_as or 'start'}: {words}"


def _vanished(evidence: Evidence) -> bool:
    kube = _kube(evidence)
    return kube.vanished and not kube.intent and not _decided_before(evidence)


def _deleted_by_others(evidence: Evidence) -> bool:
    return _kube(evidence).deleted and not _decided_before(evidence)


def _victim_was_main(evidence: Evidence) -> bool:
    """OOM evidence, and the agent's command or PID 1 died of a SIGKILL.

    A phase that counted its own kills is judged by its count, in the rules of `classify`.
    """
    kube, agent = _kube(evidence), evidence.phase("agent")
    report = kube.report.rc if kube.report else None
    first = KILLED in (kube.exit_code, report)
    command = agent is not None and agent.exit_code == KILLED and agent.oom_kills is None
    return kube.oom_killed and (first or command or kube.restarts > 0)


def _counted(evidence: Evidence) -> bool:
    """Some phase counted kills of its own, so that their place is known better."""
    return any(phase.oom_kills for phase in evidence.phases)


def _child_killed(evidence: Evidence) -> bool:
    spoken = verifier_has_spoken(evidence)
    unplaced = _kube(evidence).oom_killed and not _counted(evidence)
    return unplaced and spoken and not solved(evidence)


def _survived(evidence: Evidence) -> bool:
    unplaced = _kube(evidence).oom_killed and not _counted(evidence)
    return unplaced and verifier_has_spoken(evidence) and solved(evidence)


def _ended_without_verdict(evidence: Evidence) -> bool:
    """The pod is over before a verifier was reached."""
    return _kube(evidence).ended and evidence.phase("verifier") is None


def _why_ended(evidence: Evidence) -> str:
    kube = _kube(evidence)
    if kube.exit_code == KILLED and not kube.oom_killed:
        return "sigkill: 137 and no OOM evidence; a kill for memory cannot be ruled out"
    return "restarted: its container was started again" if kube.restarts else "no_verdict: it ended"


def _kills(evidence: Evidence) -> str:
    kube = _kube(evidence)
    counted = kube.report.oom_kills if kube.report else None
    told = "OOMKilled was told" if kube.oom_reason else "OOMKilled was not told"
    return f"oom: {told}; counted in the pod: {'unknown' if counted is None else counted}"


MAIN: OomPlace = "main"
ROWS: tuple[Rule, ...] = (
    Rule("kubernetes 0: we deleted it", lambda e: _kube(e).intent == "cancelled"
         and not verifier_has_spoken(e), "cancelled",
         detail=lambda e: "intent: we deleted the pod"),
    Rule("kubernetes 2: preempted", _preempted, "infra_error", "preempted",
         detail=lambda e: f"preempted: {_kube(e).disruption_message or _kube(e).message}"),
    Rule("kubernetes 3: evicted by the API", lambda e: _disrupted(e, "EvictionByEvictionAPI"),
         "infra_error", "evicted", detail=lambda e: f"drain: {_kube(e).disruption_message}"),
    Rule("kubernetes 4: its node fell silent", _by_taint_of_a_lost_node, "infra_error", "node_lost",
         detail=lambda e: f"unreachable: {_kube(e).disruption_message}"),
    Rule("kubernetes 4: evicted by a taint", lambda e: _disrupted(e, "DeletionByTaintManager"),
         "infra_error", "evicted", detail=lambda e: f"taint: {_kube(e).disruption_message}"),
    Rule("kubernetes 5: its node is gone", _node_gone, "infra_error", "node_lost",
         detail=lambda e: f"gone: {_kube(e).disruption_message or _kube(e).message}"),
    Rule("kubernetes 6: its node was pressed", lambda e: _evicted_with(e, LOW_RESOURCE),
         "infra_error", "evicted", detail=lambda e: f"{_pressed(e)}: {_kube(e).message}"),
    Rule("kubernetes 7: over its storage ceiling", lambda e: _evicted_with(e, STORAGE_CEILING),
         "infra_error", "evicted", detail=lambda e: f"storage_ceiling: {_kube(e).message}"),
    Rule("kubernetes 8: past its deadline", lambda e: _kube(e).reason == "DeadlineExceeded"
         and not _decided_before(e), "infra_error", "deadline",
         detail=lambda e: f"backstop: {_kube(e).message}"),
    Rule("kubernetes 9: refused by the kubelet", lambda e: _kube(e).reason in REFUSED_BY_KUBELET,
         "infra_error", "unschedulable", detail=lambda e: f"admission: {_kube(e).message}"),
    Rule("kubernetes 10: no room in time", _unscheduled, "infra_error", "unschedulable",
         detail=_why_unscheduled),
    Rule("kubernetes 11: no image", lambda e: _kube(e).waiting in IMAGE_WAITS, "infra_error",
         "image_pull", detail=_why_no_image),
    Rule("kubernetes 12: not started", _not_started, "infra_error", "start_failed",
         detail=_why_not_started),
    Rule("kubernetes 14: vanished with its node", lambda e: _vanished(e)
         and _kube(e).node.lost, "infra_error", "node_lost",
         detail=lambda e: f"vanished: node {_kube(e).node.name} is gone"),
    Rule("kubernetes 14: vanished", _vanished, "infra_error", "unknown",
         detail=lambda e: "vanished: gone without a last word; deleted by someone else"),
    Rule("kubernetes 15: deleted by others", _deleted_by_others, "infra_error", "evicted",
         detail=lambda e: "external_delete: someone deleted the pod"),
    Rule("kubernetes 16: killed at its ceiling", _victim_was_main, "infra_error", "oom_killed",
         MAIN, _kills),
    Rule("kubernetes 17: a child killed, the trial lost", _child_killed, "infra_error",
         "oom_killed", "collateral", _kills),
    Rule("kubernetes 18: a child killed, solved all the same", _survived, "passed", "",
         "recovered", _kills),
    Rule("kubernetes 19: over, and no verdict", _ended_without_verdict, "infra_error", "unknown",
         detail=_why_ended),
)  # fmt: skip
