"""What a cluster's evidence means: one row a line, from the outside in, the first that fits.

The rows stand before the rules of `classify`, which judge what no row decides. A detail begins with
the row's sub-cause, so that evictions by a drain, by a pressed node and by the pod's own storage
ceiling stay apart. `passed` needs a verifier's verdict: a pod's phase never is one.
"""

import re

from .evidence import Evidence
from .execution import KILLED
from .kube_unstarted import UNSTARTED, UNTAKEN, kube_of
from .outcome import OomPlace
from .rule import Rule, solved, verifier_has_spoken

LOST_REASONS = ("NodeLost", "Shutdown", "Terminated", "NodeShutdown")
STORAGE_CEILING = re.compile(
    r"Usage of EmptyDir volume .* exceeds|ephemeral local storage usage exceeds"
    r"|exceeded its local ephemeral storage limit"
)
LOW_RESOURCE = re.compile(r"The node was low on resource: ([\w.-]+?)\.?(?:\s|$)")


def _decided_before(evidence: Evidence) -> bool:
    """The verdict was complete before anyone asked for the pod's end."""
    kube = kube_of(evidence)
    at = kube.finished_at if kube.verdict_at is None else kube.verdict_at
    if not verifier_has_spoken(evidence) or at is None:
        return False
    if kube.disrupted_at is None:
        return not (kube.disruption or kube.deleted or kube.vanished)
    return at < kube.disrupted_at


def _disrupted(evidence: Evidence, reason: str) -> bool:
    return kube_of(evidence).disruption == reason and not _decided_before(evidence)


def _preempted(evidence: Evidence) -> bool:
    told = kube_of(evidence).reason == "Preempting" and not _decided_before(evidence)
    return told or _disrupted(evidence, "PreemptionByScheduler")


def _by_taint_of_a_lost_node(evidence: Evidence) -> bool:
    return _disrupted(evidence, "DeletionByTaintManager") and kube_of(evidence).node.lost


def _node_gone(evidence: Evidence) -> bool:
    kube = kube_of(evidence)
    invented = kube.ended_as == "ContainerStatusUnknown" and kube.reason != "Evicted"
    told = kube.reason in LOST_REASONS or invented
    return (told and not _decided_before(evidence)) or _disrupted(evidence, "DeletionByPodGC")


def _evicted_with(evidence: Evidence, words: re.Pattern[str]) -> bool:
    kube = kube_of(evidence)
    told = kube.reason == "Evicted" and words.search(kube.message) is not None
    return told and not _decided_before(evidence)


def _evicted_otherwise(evidence: Evidence) -> bool:
    """Evicted by the kubelet in words that no row knows."""
    return kube_of(evidence).reason == "Evicted" and not _decided_before(evidence)


def _pressed(evidence: Evidence) -> str:
    found = LOW_RESOURCE.search(kube_of(evidence).message)
    return f"node_pressure:{found[1] if found else 'unknown'}"


def _vanished(evidence: Evidence) -> bool:
    kube = kube_of(evidence)
    return kube.vanished and not kube.intent and not _decided_before(evidence)


def _ended_by_others(evidence: Evidence) -> bool:
    """Deleted, or disrupted for a reason that no row knows: a later Kubernetes has more of them."""
    kube = kube_of(evidence)
    return (kube.deleted or bool(kube.disruption)) and not _decided_before(evidence)


def _who_ended_it(evidence: Evidence) -> str:
    kube = kube_of(evidence)
    if kube.disruption:
        return f"disrupted: {kube.disruption} {kube.disruption_message}"
    return "external_delete: someone deleted the pod"


def _victim_was_main(evidence: Evidence) -> bool:
    """OOM evidence, and the agent's command or PID 1 died of a SIGKILL.

    A phase that counted its own kills is judged by its count, in the rules of `classify`.
    """
    kube, agent = kube_of(evidence), evidence.phase("agent")
    report = kube.report.rc if kube.report else None
    first = KILLED in (kube.exit_code, report)
    command = agent is not None and agent.exit_code == KILLED and agent.oom_kills is None
    return kube.oom_killed and (first or command or kube.restarts > 0)


def _counted(evidence: Evidence) -> bool:
    """Some phase counted kills of its own, so that their place is known better."""
    return any(phase.oom_kills for phase in evidence.phases)


def _child_killed(evidence: Evidence) -> bool:
    spoken = verifier_has_spoken(evidence)
    unplaced = kube_of(evidence).oom_killed and not _counted(evidence)
    return unplaced and spoken and not solved(evidence)


def _survived(evidence: Evidence) -> bool:
    unplaced = kube_of(evidence).oom_killed and not _counted(evidence)
    return unplaced and verifier_has_spoken(evidence) and solved(evidence)


def _ended_without_verdict(evidence: Evidence) -> bool:
    """The pod is over before a verifier has spoken."""
    return kube_of(evidence).ended and not verifier_has_spoken(evidence)


def _why_ended(evidence: Evidence) -> str:
    kube = kube_of(evidence)
    if kube.exit_code == KILLED and not kube.oom_killed:
        return "sigkill: 137 and no OOM evidence; a kill for memory cannot be ruled out"
    return "no_verdict: it ended"


def _kills(evidence: Evidence) -> str:
    kube = kube_of(evidence)
    counted = kube.report.oom_kills if kube.report else None
    told = "OOMKilled was told" if kube.oom_reason else "OOMKilled was not told"
    return f"oom: {told}; counted in the pod: {'unknown' if counted is None else counted}"


MAIN: OomPlace = "main"
ROWS: tuple[Rule, ...] = (
    Rule("kubernetes 0: we deleted it", lambda e: kube_of(e).intent == "cancelled"
         and not verifier_has_spoken(e), "cancelled",
         detail=lambda e: "intent: we deleted the pod"),
    Rule("kubernetes 2: preempted", _preempted, "infra_error", "preempted",
         detail=lambda e: f"preempted: {kube_of(e).disruption_message or kube_of(e).message}"),
    Rule("kubernetes 3: evicted by the API", lambda e: _disrupted(e, "EvictionByEvictionAPI"),
         "infra_error", "evicted", detail=lambda e: f"drain: {kube_of(e).disruption_message}"),
    Rule("kubernetes 4: its node fell silent", _by_taint_of_a_lost_node, "infra_error", "node_lost",
         detail=lambda e: f"unreachable: {kube_of(e).disruption_message}"),
    Rule("kubernetes 4: evicted by a taint", lambda e: _disrupted(e, "DeletionByTaintManager"),
         "infra_error", "evicted", detail=lambda e: f"taint: {kube_of(e).disruption_message}"),
    Rule("kubernetes 5: its node is gone", _node_gone, "infra_error", "node_lost",
         detail=lambda e: f"gone: {kube_of(e).disruption_message or kube_of(e).message}"),
    *UNTAKEN,
    Rule("kubernetes 6: its node was pressed", lambda e: _evicted_with(e, LOW_RESOURCE),
         "infra_error", "evicted", detail=lambda e: f"{_pressed(e)}: {kube_of(e).message}"),
    Rule("kubernetes 7: over its storage ceiling", lambda e: _evicted_with(e, STORAGE_CEILING),
         "infra_error", "evicted", detail=lambda e: f"storage_ceiling: {kube_of(e).message}"),
    Rule("kubernetes 7: evicted otherwise", _evicted_otherwise, "infra_error", "evicted",
         detail=lambda e: f"kubelet: {kube_of(e).message}"),
    Rule("kubernetes 8: past its deadline", lambda e: kube_of(e).reason == "DeadlineExceeded"
         and not _decided_before(e), "infra_error", "deadline",
         detail=lambda e: f"backstop: {kube_of(e).message}"),
    *UNSTARTED,
    Rule("kubernetes 14: vanished with its node", lambda e: _vanished(e)
         and kube_of(e).node.lost, "infra_error", "node_lost",
         detail=lambda e: f"vanished: node {kube_of(e).node.name} is gone"),
    Rule("kubernetes 14: vanished", _vanished, "infra_error", "unknown",
         detail=lambda e: "vanished: gone without a last word; deleted by someone else"),
    Rule("kubernetes 15: ended by others", _ended_by_others, "infra_error", "evicted",
         detail=_who_ended_it),
    Rule("kubernetes 16: killed at its ceiling", _victim_was_main, "infra_error", "oom_killed",
         MAIN, _kills),
    Rule("kubernetes 16: started again", lambda e: kube_of(e).restarts > 0, "infra_error",
         "unknown", detail=lambda e: "restarted: what runs now is another container"),
    Rule("kubernetes 17: a child killed, the trial lost", _child_killed, "infra_error",
         "oom_killed", "collateral", _kills),
    Rule("kubernetes 18: a child killed, solved all the same", _survived, "passed", "",
         "recovered", _kills),
    Rule("kubernetes 19: over, and no verdict", _ended_without_verdict, "infra_error", "unknown",
         detail=_why_ended),
)  # fmt: skip
