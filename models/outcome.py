"""Outcomes: the verdict on a trial, its cause, and where an OOM kill fell."""

from typing import Literal, get_args

from .value import Value

Verdict = Literal["passed", "failed", "infra_error", "cancelled"]
FailedCause = Literal["wrong", "agent_timeout", "agent_error", "no_answer"]
InfraCause = Literal[
    "oom_killed",
    "evicted",
    "preempted",
    "node_lost",
    "image_pull",
    "image_build",
    "unschedulable",
    "start_failed",
    "disk_full",
    "network",
    "model_api",
    "verifier_error",
    "deadline",
    "harness",
    "unknown",
]
Cause = Literal["", FailedCause, InfraCause]
OomPlace = Literal["main", "collateral", "recovered", "verifier"]
INFRA_CAUSES: tuple[str, ...] = get_args(InfraCause)
FAILED_CAUSES: tuple[str, ...] = get_args(FailedCause)


class Outcome(Value):
    """What an attempt's evidence means, under one version of the rules.

    `rule` names the rule that decided, `detail` says in words what it saw. `oom` is the place of
    an OOM kill: every infra rate is printed with and without the `collateral` ones.
    """

    verdict: Verdict
    cause: Cause = ""
    oom: OomPlace | None = None
    reward: float = 0.0
    rule: str
    detail: str = ""
    version: int
