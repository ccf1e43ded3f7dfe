"""What the evidence means: a pure, versioned function, one rule a line.

Rules are read from the outside in (who ended it, node, pod, ceiling, verifier, agent) and the
first that fits decides. An exit code of 137 alone is no OOM kill, a `reward` alone is no pass, and
a missing verdict is never the model's failure.
"""

from functools import lru_cache

from .evidence import Evidence
from .execution import KILLED
from .kube_rows import ROWS
from .outcome import INFRA_CAUSES, Cause, OomPlace, Outcome, Verdict
from .rule import PASS_REWARD as PASS_REWARD
from .rule import Rule, solved, verifier_has_spoken

VERSION = 3
HUNG_SHARE = 0.5  # of the agent's time, waited in one unanswered call as it ran out
DISK_FULL = "node's disk full"


def classify(evidence: Evidence) -> Outcome:
    """The outcome of an attempt with this evidence, under the rules of `VERSION`.

    >>> classify(Evidence(node_seen="no")).cause
    'node_lost'
    """
    rule = next(rule for rule in _rules_for(evidence) if rule.fits(evidence))
    return _outcome(
        rule.verdict,
        rule.cause(evidence) if callable(rule.cause) else rule.cause,
        rule.oom(evidence) if callable(rule.oom) else rule.oom,
        evidence.reward or 0.0,
        rule.name,
        rule.detail(evidence),
    )


@lru_cache(maxsize=1024)
def _outcome(
    verdict: Verdict, cause: Cause, oom: OomPlace | None, reward: float, rule: str, detail: str
) -> Outcome:
    """Equal outcomes are one value: most attempts end like another, and checking each costs."""
    return Outcome(
        verdict=verdict,
        cause=cause,
        oom=oom,
        reward=reward,
        rule=rule,
        detail=detail,
        version=VERSION,
    )


def _rules_for(evidence: Evidence) -> tuple[Rule, ...]:
    """A cluster's pod is judged by what the cluster told first, unless we or the node broke."""
    ours = evidence.cancelled or evidence.harness_fault or evidence.node_seen == "no"
    return RULES if evidence.kube is None or ours else (*ROWS, *RULES)


def _killed_main(evidence: Evidence) -> bool:
    return any(
        p.main_was_killed or (p.lost and p.oom_kills)
        for p in evidence.phases
        if p.name != "verifier"
    )


def _lost(evidence: Evidence) -> str:
    return next((p.lost for p in evidence.phases if p.lost), "")


def _fault_cause(evidence: Evidence) -> Cause:
    assert evidence.fault is not None
    known = evidence.fault.cause in INFRA_CAUSES
    return evidence.fault.cause if known else "unknown"  # type: ignore[return-value]


def _fault_words(evidence: Evidence) -> str:
    return evidence.fault.message if evidence.fault else ""


def _agent_ended_at(exit_code: int, evidence: Evidence) -> bool:
    agent = evidence.phase("agent")
    return agent is not None and agent.exit_code == exit_code


def _agent_timed_out(evidence: Evidence) -> bool:
    agent = evidence.phase("agent")
    return agent is not None and agent.timed_out


def _killed_by_an_unknown_hand(evidence: Evidence) -> bool:
    agent = evidence.phase("agent")
    return agent is not None and agent.exit_code == KILLED and agent.oom_kills is None


def _agent_broke(evidence: Evidence) -> bool:
    agent = evidence.phase("agent")
    return bool(evidence.agent_fault) or (agent is not None and agent.exit_code not in (0, None))


def _starved_of_disk(evidence: Evidence) -> bool:
    """Nothing that went wrong on a full disk is anyone's doing; a pass on one is a pass."""
    if evidence.node_disk_full != "yes" or evidence.node_seen == "no":
        return False
    stopped = evidence.fault is not None and evidence.fault.cause in ("node_lost", "preempted")
    return not (
        stopped or _killed_main(evidence) or (solved(evidence) and verifier_has_spoken(evidence))
    )


def _silence(evidence: Evidence) -> str:
    heard, said = evidence.node_silent_s, "the node stopped renewing the attempt's lease"
    return said if heard is None else f"{said}; it was last heard of {heard:.1f} s before"


def _api_ended_it(evidence: Evidence) -> bool:
    """The agent's last call failed, or hung for most of its time; and nothing came of the trial."""
    if solved(evidence) and verifier_has_spoken(evidence):
        return False
    return bool(evidence.api_fault) or _last_call_failed(evidence) or _hung(evidence)


def _last_call_failed(evidence: Evidence) -> bool:
    return evidence.api is not None and evidence.api.last_failed


def _hung(evidence: Evidence) -> bool:
    agent = evidence.phase("agent")
    if evidence.api is None or agent is None or not agent.timed_out or not agent.wall_s:
        return False
    return evidence.api.unanswered_s >= HUNG_SHARE * agent.wall_s


def _api_words(evidence: Evidence) -> str:
    if evidence.api is None:
        return evidence.api_fault
    api = evidence.api
    if _last_call_failed(evidence):
        how = f"the last of {api.calls} call(s) ended with {api.last_words}"
    elif _hung(evidence):
        how = f"the agent's time ran out in a call that was unanswered for {api.unanswered_s:.0f} s"
    else:
        how = evidence.api_fault
    return f"{how}; {api.failed} failed in all"


def _way_out_lost(evidence: Evidence) -> str:
    """How the way out of the pod broke under a trial that was not solved."""
    if evidence.egress is None or (solved(evidence) and verifier_has_spoken(evidence)):
        return ""
    return evidence.egress.lost


def _cut_off(evidence: Evidence) -> str:
    """Which allowed hosts were out of reach to the end of a trial that was not solved. That a
    forbidden one was refused, or that a name does not exist, is an answer and no such case."""
    if evidence.egress is None or (solved(evidence) and verifier_has_spoken(evidence)):
        return ""
    return "; ".join(evidence.egress.cut_off)


def _why_no_verdict(evidence: Evidence) -> str:
    verifier = evidence.phase("verifier")
    if verifier is None:
        return "the verifier was not reached"
    if verifier.timed_out:
        after = "" if verifier.wall_s is None else f" after {verifier.wall_s:.0f} s"
        return f"the verifier ran into its timeout{after}"
    if verifier.exit_code == KILLED:
        return "the verifier was killed (137)"
    return evidence.reward_fault or "the verifier left no reward"


def _kills(evidence: Evidence) -> str:
    return (
        f"{evidence.agent_kills} OOM kill(s) before the verifier, "
        f"{evidence.verifier_kills} during it"
    )


def _recovered(evidence: Evidence) -> OomPlace | None:
    return "recovered" if evidence.agent_kills or evidence.verifier_kills else None


RULES: tuple[Rule, ...] = (
    Rule("cancelled", lambda e: e.cancelled, "cancelled", detail=lambda e: e.cancelled),
    Rule(DISK_FULL, _starved_of_disk, "infra_error", "disk_full",
         detail=lambda e: "a disk of the node was full, whoever filled it"),
    Rule("harness broke", lambda e: e.harness_fault, "infra_error", "harness",
         detail=lambda e: e.harness_fault),
    Rule("node lost", lambda e: e.node_seen == "no", "infra_error", "node_lost",
         detail=_silence),
    Rule("killed at its ceiling", _killed_main, "infra_error", "oom_killed", "main", _kills),
    Rule("pod not had", lambda e: e.fault, "infra_error", _fault_cause, detail=_fault_words),
    Rule("disk filled to its ceiling", lambda e: e.storage_exceeded == "yes", "infra_error",
         "disk_full", detail=lambda e: "the storage ceiling was exceeded and the pod was stopped"),
    Rule("way to the pod lost", _lost, "infra_error", "network", detail=_lost),
    Rule("way out of the pod lost", _way_out_lost, "infra_error", "network", detail=_way_out_lost),
    Rule("model API ended it", _api_ended_it, "infra_error", "model_api", detail=_api_words),
    Rule("allowed host out of reach", _cut_off, "infra_error", "network", detail=_cut_off),
    Rule("past its deadline", lambda e: e.deadline_exceeded, "infra_error", "deadline",
         detail=lambda e: "the attempt's deadline passed: a backstop, no time limit"),
    Rule("verifier starved", lambda e: e.verifier_kills and not (
         solved(e) and verifier_has_spoken(e)), "infra_error", "verifier_error", "verifier",
         _kills),
    Rule("a child killed, the trial lost", lambda e: e.agent_kills and not (
         solved(e) and verifier_has_spoken(e)), "infra_error", "oom_killed", "collateral",
         _kills),
    Rule("no verdict", lambda e: not verifier_has_spoken(e), "infra_error", "verifier_error",
         detail=_why_no_verdict),
    Rule("solved", solved, "passed", oom=_recovered),
    Rule("out of time", _agent_timed_out, "failed", "agent_timeout"),
    Rule("killed by an unknown hand", _killed_by_an_unknown_hand, "infra_error", "unknown",
         detail=lambda e: "137 and no kill counter: an OOM kill cannot be ruled out"),
    Rule("agent broke", _agent_broke, "failed", "agent_error",
         detail=lambda e: e.agent_fault),
    Rule("nothing tried", lambda e: e.answered == "no", "failed", "no_answer"),
    Rule("wrong answer", lambda e: True, "failed", "wrong"),
)  # fmt: skip
