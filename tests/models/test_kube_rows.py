"""Every recorded scenario of a real cluster, and what it means."""

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kube_replay import full, last_object, recorded

from infranoise.models import kube_reading
from infranoise.models.classify import classify
from infranoise.models.evidence import Evidence, Phase
from infranoise.models.kube_evidence import KubeEvidence, NodeSeen
from infranoise.models.kube_reading import Transition, wrapper_report
from infranoise.models.kube_rows import ROWS
from infranoise.models.outcome import Outcome

Verdict = Literal["", "passed", "failed"]
READY = NodeSeen(name="node-1", exists="yes", ready="yes")
DELETED = NodeSeen(name="node-1", exists="no")


def history(scenario: str) -> list[Transition]:
    """A recording's transitions, its last event in full."""
    record = recorded(scenario)
    last = last_object(record)
    steps = [
        Transition(kind=step["type"], pod=full(step["status"], step, last))
        for step in record["watch"]
    ]
    kind = "DELETED" if "readError" in record["pod"] else "MODIFIED"
    return [*steps, Transition(kind=kind, pod=last)]


def evidence(kube: KubeEvidence, verdict: Verdict = "", agent_code: int = 0) -> Evidence:
    phases: tuple[Phase, ...] = (Phase(name="agent", exit_code=agent_code),)
    if verdict:
        phases = (*phases, Phase(name="verifier", exit_code=0))
    reward = {"": None, "passed": 1.0, "failed": 0.0}[verdict]
    return Evidence(phases=phases, reward=reward, kube=kube)


def outcome(
    scenario: str,
    verdict: Verdict = "",
    *,
    node: NodeSeen = READY,
    agent_code: int = 0,
    **more: object,
) -> Outcome:
    found = kube_reading.facts(history(scenario), node=node, events=recorded(scenario)["events"])
    return classify(evidence(found.model_copy(update=more), verdict, agent_code))


def told(of: Outcome) -> tuple[str, str, str | None, str]:
    sub = of.detail.split(": ")[0] if of.rule.startswith("kubernetes") else ""
    return of.verdict, of.cause, of.oom, sub


IE = "infra_error"
NO_VERDICT = (IE, "unknown", None, "no_verdict")
PASSED, FAILED = ("passed", "", None, ""), ("failed", "wrong", None, "")
MAIN, COLLATERAL = (IE, "oom_killed", "main", "oom"), (IE, "oom_killed", "collateral", "oom")
RECOVERED = ("passed", "", "recovered", "oom")
DELETION = (IE, "evicted", None, "external_delete")
RECORDINGS: dict[str, list[tuple[dict[str, Any], tuple[str, str, str | None, str]]]] = {
    "passed": [({"verdict": "passed"}, PASSED), ({}, NO_VERDICT)],
    "failed-exit1": [({"verdict": "failed"}, FAILED), ({}, NO_VERDICT)],
    "sigkill-137": [({}, (IE, "unknown", None, "sigkill"))],
    "termination-evidence-ok": [({"verdict": "passed"}, PASSED)],
    "termination-evidence-oom": [({}, MAIN), ({"verdict": "passed"}, MAIN)],
    "termination-evidence-oom-passed": [
        ({"verdict": "passed"}, RECOVERED),
        ({"verdict": "failed"}, COLLATERAL),
    ],
    "oom-main": [({}, MAIN)],
    "oom-child-failed": [
        ({"verdict": "failed"}, COLLATERAL),
        ({"verdict": "failed", "agent_code": 137}, MAIN),
    ],
    "oom-child-swallowed": [
        ({"verdict": "passed"}, RECOVERED),
        ({"verdict": "failed"}, COLLATERAL),
        ({}, NO_VERDICT),
    ],
    "oom-exec": [
        ({"agent_code": 137}, MAIN),
        ({"verdict": "passed"}, RECOVERED),
        ({"verdict": "failed"}, COLLATERAL),
    ],
    "deadline": [({}, (IE, "deadline", None, "backstop"))],
    "liveness-restart": [({}, MAIN)],
    "limits-only": [({"verdict": "passed"}, PASSED), ({"verdict": "failed"}, FAILED)],
    "log-rotation": [({"verdict": "passed"}, PASSED), ({"verdict": "failed"}, FAILED)],
    "preemptor": [({"verdict": "passed"}, PASSED), ({"verdict": "failed"}, FAILED)],
    "preempted": [({}, (IE, "preempted", None, "preempted"))],
    "api-evicted": [({}, (IE, "evicted", None, "drain"))],
    "finalizer-evicted": [({}, (IE, "evicted", None, "drain"))],
    "taint-evicted": [({}, (IE, "evicted", None, "taint"))],
    "node-deleted": [({"node": DELETED}, (IE, "node_lost", None, "gone"))],
    "node-pressure-evicted": [({}, (IE, "evicted", None, "node_pressure:memory"))],
    "ephemeral-evicted": [({}, (IE, "evicted", None, "storage_ceiling"))],
    "ephemeral-limit": [({}, (IE, "evicted", None, "storage_ceiling"))],
    "deleted-running": [
        ({}, DELETION),
        ({"verdict": "passed"}, DELETION),
        ({"intent": "cancelled"}, ("cancelled", "", None, "intent")),
    ],
    "exec-pod-deleted": [
        ({"agent_code": 137}, DELETION),
        ({"intent": "cancelled"}, ("cancelled", "", None, "intent")),
    ],
    "unschedulable-memory": [
        (
            {"overdue": "schedule", "floor_fits": "no"},
            (IE, "unschedulable", None, "config_error"),
        )
    ],
    "unschedulable-selector": [
        ({"overdue": "schedule", "floor_fits": "yes"}, (IE, "unschedulable", None, "no_room"))
    ],
    "outofmemory-admission": [({}, (IE, "unschedulable", None, "admission"))],
    "image-missing": [({}, (IE, "image_pull", None, "infrastructure"))],
    "image-never": [({}, (IE, "image_pull", None, "configuration"))],
    "image-invalid-name": [({}, (IE, "image_pull", None, "configuration"))],
    "config-error": [({}, (IE, "start_failed", None, "CreateContainerConfigError"))],
    "mount-stuck": [({"overdue": "start"}, (IE, "start_failed", None, "ContainerCreating"))],
    "start-failed": [({}, (IE, "start_failed", None, "StartError"))],
}
CASES = [
    pytest.param(scenario, how, means, id=f"{scenario}-{n}")
    for scenario, cases in RECORDINGS.items()
    for n, (how, means) in enumerate(cases)
]


@pytest.mark.parametrize(("scenario", "how", "means"), CASES)
def test_a_recording_means_what_its_readme_says(
    scenario: str, how: dict[str, Any], means: tuple[str, str, str | None, str]
) -> None:
    assert told(outcome(scenario, **how)) == means


def test_a_pod_on_a_silent_node_is_lost_with_it() -> None:
    extra = recorded("node-lost")["extra"]
    node = {
        "spec": {"taints": extra["node_taints"]},
        "status": {"conditions": extra["node_conditions"]},
    }
    lost = outcome("node-lost", node=kube_reading.node_seen("node-1", node))
    assert told(lost) == (IE, "node_lost", None, "unreachable")


def test_every_kill_of_the_loop_is_known_with_the_wrapper_and_suspected_without() -> None:
    for scenario, means in {
        "oom-loop-60": (IE, "unknown", None, "sigkill"),
        "oom-loop-60-wrapped": MAIN,
    }.items():
        for status in recorded(scenario)["odd"]:
            pod = {"metadata": {}, "status": status}
            found = kube_reading.facts([Transition(kind="MODIFIED", pod=pod)], node=READY)
            assert told(classify(evidence(found))) == means


def test_a_full_quota_is_no_room_once_its_time_is_over() -> None:
    words = recorded("quota-exceeded")["body"]["message"]
    found = KubeEvidence(overdue="schedule", quota=words, floor_fits="yes")
    assert told(classify(evidence(found))) == (IE, "unschedulable", None, "no_room")


BACK_OFF = {"waiting": "ImagePullBackOff", "waiting_message": 'Back-off pulling image "x:1"'}
UNRECORDED: dict[str, tuple[dict[str, Any], Verdict, tuple[str, str, str | None, str]]] = {
    "evicted in words of a later kubelet": (
        {"phase": "Failed", "reason": "Evicted", "message": "The node was low on patience"},
        "failed",
        (IE, "evicted", None, "kubelet"),
    ),
    "evicted, and the verdict was there before": (
        {
            "phase": "Failed",
            "reason": "Evicted",
            "message": "The node was low on resource: memory. ",
            "disruption": "TerminationByKubelet",
            "disrupted_at": 20.0,
            "verdict_at": 10.0,
        },
        "failed",
        FAILED,
    ),
    "the kubelet made room for a critical pod": (
        {"phase": "Failed", "reason": "Preempting"},
        "failed",
        (IE, "preempted", None, "preempted"),
    ),
    "its node was shut down": (
        {"phase": "Failed", "reason": "Terminated"},
        "failed",
        (IE, "node_lost", None, "gone"),
    ),
    "the kubelet came back and knew nothing of it": (
        {"phase": "Failed", "ended_as": "ContainerStatusUnknown", "exit_code": 137},
        "failed",
        (IE, "node_lost", None, "gone"),
    ),
    "tainted away from a node that has gone silent": (
        {
            "disruption": "DeletionByTaintManager",
            "node": {"name": "n", "exists": "yes", "ready": "unknown"},
        },
        "failed",
        (IE, "node_lost", None, "unreachable"),
    ),
    "the backstop, and the verdict was there before": (
        {"phase": "Failed", "reason": "DeadlineExceeded", "verdict_at": 10.0},
        "failed",
        FAILED,
    ),
    "the backstop": (
        {"phase": "Failed", "reason": "DeadlineExceeded"},
        "failed",
        (IE, "deadline", None, "backstop"),
    ),
    "no network for its sandbox": (
        {"overdue": "start", "troubles": ("FailedCreatePodSandBox: plugin type=cni failed",)},
        "",
        (IE, "start_failed", None, "network"),
    ),
    "its image took all the time, and nothing was told of it": (
        {"overdue": "image"},
        "",
        (IE, "start_failed", None, "start"),
    ),
    "no registry of that name, whatever else is not found": (
        {
            "waiting": "ErrImagePull",
            "waiting_message": "lookup r.example: no such host",
            "troubles": ("Failed: not found",),
        },
        "",
        (IE, "image_pull", None, "infrastructure"),
    ),
    "sent away by a node under pressure": (
        {
            "phase": "Failed",
            "reason": "Evicted",
            "message": "Pod was rejected: The node had condition: [DiskPressure]. ",
        },
        "",
        (IE, "unschedulable", None, "admission"),
    ),
    "no such device left": (
        {"phase": "Failed", "reason": "OutOfnvidia.com/gpu"},
        "",
        (IE, "unschedulable", None, "admission"),
    ),
    "disrupted for a reason of a later version": (
        {"phase": "Failed", "disruption": "DeletionByDeviceTaintManager", "exit_code": 143},
        "failed",
        (IE, "evicted", None, "disrupted"),
    ),
    "its container was started again": (
        {"phase": "Running", "restarts": 1},
        "failed",
        (IE, "unknown", None, "restarted"),
    ),
    "a pull is put off, and an event alone says why": (
        BACK_OFF | {"overdue": "image", "troubles": ('Failed: pull "x:1": not found',)},
        "",
        (IE, "image_pull", None, "configuration"),
    ),
    "a pull is put off, and nobody says why": (
        BACK_OFF | {"overdue": "image"},
        "",
        (IE, "image_pull", None, "infrastructure"),
    ),
}


@pytest.mark.parametrize("story", UNRECORDED)
def test_what_nobody_recorded_has_a_row_too(story: str) -> None:
    facts, verdict, means = UNRECORDED[story]
    assert told(classify(evidence(KubeEvidence.model_validate(facts), verdict))) == means


def test_a_pod_that_is_killed_under_its_verifier_is_no_lost_connection() -> None:
    phases = (Phase(name="agent", exit_code=0), Phase(name="verifier", lost="it broke"))
    killed = KubeEvidence(phase="Failed", exit_code=137, ended_as="Error")
    found = classify(Evidence(phases=phases, kube=killed))
    assert told(found) == (IE, "unknown", None, "sigkill")


def test_a_verdict_in_the_second_of_the_disruption_is_not_before_it() -> None:
    kube = KubeEvidence(disruption="EvictionByEvictionAPI", disrupted_at=10.0, verdict_at=10.0)
    assert classify(evidence(kube, "passed")).cause == "evicted"


def test_a_pod_that_we_removed_has_not_vanished() -> None:
    kube = KubeEvidence(vanished=True, intent="cleanup")
    assert classify(evidence(kube, "failed")).verdict == "failed"


def test_the_year_1970_is_no_time() -> None:
    assert kube_reading.unix("1970-01-01T00:00:00Z") is None
    assert kube_reading.unix(None) is None
    assert kube_reading.unix("1970-01-01T00:01:00Z") == 60.0


VANISHED = {"node gone": (DELETED, "node_lost"), "node there": (READY, "unknown")}


@pytest.mark.parametrize("story", VANISHED)
def test_a_pod_that_goes_without_a_word_is_not_guessed_at(story: str) -> None:
    node, cause = VANISHED[story]
    steps = [
        Transition(kind="MODIFIED", pod={"status": {"phase": "Running"}}),
        Transition(kind="VANISHED", pod={"status": {"phase": "Running"}}),
    ]
    found = classify(evidence(kube_reading.facts(steps, node=node)))
    assert (found.verdict, found.cause) == (IE, cause)


def test_a_verdict_from_before_the_disruption_stands_and_one_from_after_does_not() -> None:
    steps = history("preempted")
    kube = kube_reading.facts(steps, node=READY)
    assert kube.disrupted_at is not None
    before = kube.model_copy(update={"verdict_at": kube.disrupted_at - 1})
    after = kube.model_copy(update={"verdict_at": kube.disrupted_at + 1})
    assert classify(evidence(before, "passed")).verdict == "passed"
    assert classify(evidence(after, "passed")).cause == "preempted"


def test_what_our_own_deletion_did_is_no_cause_but_its_counters_count() -> None:
    report = '{"rc":143,"before":{"oom_kill":0},"after":{"oom_kill":1}}'
    ended = {"state": {"terminated": {"exitCode": 143, "reason": "Error", "message": report}}}
    steps = [
        Transition(kind="MODIFIED", pod={"status": {"phase": "Running"}}),
        Transition(
            kind="DELETED",
            pod={"status": {"phase": "Failed", "containerStatuses": [ended]}},
            ours=True,
        ),
    ]
    found = kube_reading.facts(steps, node=READY, intent="cleanup")
    assert classify(evidence(found, "passed")).oom == "recovered"
    assert classify(evidence(found, "failed")).cause == "oom_killed"


NO_REPORT = ["", "Killed", "null", "[]", '{"rc":0}', '{"rc":0,"before":1,"after":2}', "{", "é" * 9]
HOSTILE = [  # whoever runs in a pod may write its last words
    "[" * 4096,
    '{"rc":0,"before":{"oom_kill":0},"after":{"oom_kill":99999999999999999999}}',
    '{"rc":0,"before":{"oom_kill":-5},"after":{"oom_kill":0}}',
    '{"rc":1e999,"before":{"oom_kill":0},"after":{"oom_kill":0}}',
    '{"rc":0,"before":{"oom_kill":0,"wall":NaN},"after":{"oom_kill":0}}',
    '{"rc":0,"before":{"oom_kill":0},"after":{"oom_kill":0,"up":1e300}}',
]


@pytest.mark.parametrize("message", [*NO_REPORT, *HOSTILE])
def test_what_is_not_the_wrapper_s_report_is_none(message: str) -> None:
    assert wrapper_report(message) is None


def test_a_count_that_falls_is_no_kill() -> None:
    told = wrapper_report('{"rc":0,"before":{"oom_kill":5},"after":{"oom_kill":1}}')
    assert told is not None
    assert told.oom_kills == 0


def test_every_row_decides_some_story() -> None:
    decided = {outcome(scenario, **how).rule for scenario, how, _ in (c.values for c in CASES)}
    decided |= {"kubernetes 14: vanished", "kubernetes 14: vanished with its node"}
    decided |= {"kubernetes 4: its node fell silent"}
    decided |= {
        classify(evidence(KubeEvidence.model_validate(facts), verdict)).rule
        for facts, verdict, _ in UNRECORDED.values()
    }
    assert {row.name for row in ROWS} <= decided


kubes = st.builds(
    KubeEvidence,
    phase=st.sampled_from(["", "Running", "Failed", "Succeeded"]),
    reason=st.sampled_from(["", "Evicted", "DeadlineExceeded", "OutOfmemory", "NodeLost"]),
    message=st.sampled_from(["", "The node was low on resource: memory. ", "as told"]),
    disruption=st.sampled_from(["", "PreemptionByScheduler", "EvictionByEvictionAPI", "Later"]),
    disrupted_at=st.sampled_from([None, 10.0]),
    verdict_at=st.sampled_from([None, 20.0]),
    deleted=st.booleans(),
    vanished=st.booleans(),
    exit_code=st.sampled_from([None, 0, 137]),
    oom_reason=st.booleans(),
)


@given(kubes, st.sampled_from(["", "passed", "failed"]))
def test_a_deleted_pod_never_passed_and_a_disrupted_one_never_failed(
    kube: KubeEvidence, verdict: Verdict
) -> None:
    found = classify(evidence(kube, verdict))
    if kube.deleted or kube.disruption or kube.reason == "Evicted":
        assert found.verdict == "infra_error"
    if not verdict:
        assert found.verdict not in ("passed", "failed")
