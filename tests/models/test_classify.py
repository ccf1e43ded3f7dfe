"""What the evidence means: one row a story, the seen combinations of exit code, kill and reward."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.models.api_call import ApiUse
from infranoise.models.classify import RULES, VERSION, classify
from infranoise.models.egress_seen import DnsSeen, EgressSeen, HostSeen, RefusedSeen
from infranoise.models.evidence import Evidence, Fault, Phase
from infranoise.models.outcome import FAILED_CAUSES, INFRA_CAUSES

SETUP = Phase(name="setup", exit_code=0, oom_kills=0)


def agent(exit_code: int | None = 0, kills: int | None = 0, **more: object) -> Phase:
    return Phase(name="agent", exit_code=exit_code, oom_kills=kills, **more)


def verifier(exit_code: int | None = 0, kills: int | None = 0, **more: object) -> Phase:
    return Phase(name="verifier", exit_code=exit_code, oom_kills=kills, **more)


def seen(*phases: Phase, reward: float | None = None, **more: object) -> Evidence:
    return Evidence(phases=(SETUP, *phases), reward=reward, **more)


SILENT = HostSeen(host="site.test", port=443, failed=2, why="no answer", cut_off=True)
UNKNOWN = DnsSeen(name="site.test", fault="server failed", cut_off=True)
STORIES: dict[str, tuple[Evidence, tuple[str, str, str | None]]] = {
    "solved, nothing else": (
        seen(agent(), verifier(), reward=1.0),
        ("passed", "", None),
    ),
    "a wrong answer": (
        seen(agent(), verifier(), reward=0.0),
        ("failed", "wrong", None),
    ),
    "a partial reward is no pass": (
        seen(agent(), verifier(), reward=0.5),
        ("failed", "wrong", None),
    ),
    "test.sh exits 1 and gives the reward 1": (
        seen(agent(), verifier(1), reward=1.0),
        ("passed", "", None),
    ),
    "nothing was tried": (
        seen(agent(None), verifier(), reward=0.0, answered="no"),
        ("failed", "no_answer", None),
    ),
    "the agent ends with an error": (
        seen(agent(2), verifier(), reward=0.0),
        ("failed", "agent_error", None),
    ),
    "the agent's own code breaks": (
        seen(agent(None), verifier(), reward=0.0, agent_fault="KeyError: 'x'"),
        ("failed", "agent_error", None),
    ),
    "rc 0, a kill, reward 0: a child died and the trial with it": (
        seen(agent(0, 1), verifier(), reward=0.0),
        ("infra_error", "oom_killed", "collateral"),
    ),
    "rc 0, a kill, reward 1: recovered": (
        seen(agent(0, 1), verifier(), reward=1.0),
        ("passed", "", "recovered"),
    ),
    "rc 126 with a kill": (
        seen(agent(126, 1), verifier(), reward=0.0),
        ("infra_error", "oom_killed", "collateral"),
    ),
    "rc 1 with two kills": (
        seen(agent(1, 2), verifier(), reward=0.0),
        ("infra_error", "oom_killed", "collateral"),
    ),
    "rc 137 with a kill: the agent itself died": (
        seen(agent(137, 1), verifier(), reward=0.0),
        ("infra_error", "oom_killed", "main"),
    ),
    "the agent itself died, whatever it had written before": (
        seen(agent(137, 1), verifier(), reward=1.0),
        ("infra_error", "oom_killed", "main"),
    ),
    "a time-out that hides a kill": (
        seen(agent(None, 1, timed_out=True), verifier(), reward=0.0),
        ("infra_error", "oom_killed", "collateral"),
    ),
    "out of time": (
        seen(agent(None, timed_out=True), verifier(), reward=0.0),
        ("failed", "agent_timeout", None),
    ),
    "out of time with the answer written": (
        seen(agent(None, timed_out=True), verifier(), reward=1.0),
        ("passed", "", None),
    ),
    "a plain kill -9 is no OOM kill": (
        seen(agent(137, 0), verifier(), reward=0.0),
        ("failed", "agent_error", None),
    ),
    "137 without a counter to ask": (
        seen(agent(137, None), verifier(), reward=0.0),
        ("infra_error", "unknown", None),
    ),
    "agent clean, verifier kills 3, reward 0": (
        seen(agent(), verifier(1, 3), reward=0.0),
        ("infra_error", "verifier_error", "verifier"),
    ),
    "the verifier itself was killed by its ceiling": (
        seen(agent(), verifier(137, 1)),
        ("infra_error", "verifier_error", "verifier"),
    ),
    "the verifier was killed after it had written a pass": (
        seen(agent(), verifier(137, 1), reward=1.0),
        ("infra_error", "verifier_error", "verifier"),
    ),
    "the verifier was killed by somebody": (
        seen(agent(), verifier(137, 0), reward=1.0),
        ("infra_error", "verifier_error", None),
    ),
    "a child of the verifier was killed and it passed all the same": (
        seen(agent(), verifier(0, 1), reward=1.0),
        ("passed", "", "recovered"),
    ),
    "the verifier ran into its timeout": (
        seen(agent(), verifier(None, timed_out=True)),
        ("infra_error", "verifier_error", None),
    ),
    "the verifier left nothing": (
        seen(agent(), verifier(), reward_fault="the verifier left neither"),
        ("infra_error", "verifier_error", None),
    ),
    "the pod did not start": (
        Evidence(fault=Fault(cause="start_failed", message="no such binary")),
        ("infra_error", "start_failed", None),
    ),
    "the image could not be built": (
        Evidence(fault=Fault(cause="image_build", message="RUN exited 1")),
        ("infra_error", "image_build", None),
    ),
    "a fault of a kind that nobody named": (
        Evidence(fault=Fault(cause="moonshine", message="?")),
        ("infra_error", "unknown", None),
    ),
    "the pod vanished under the agent": (
        seen(agent(None, 0, lost="connection reset")),
        ("infra_error", "network", None),
    ),
    "the pod vanished because its PID 1 was killed at the ceiling": (
        seen(agent(None, 1, lost="container is gone")),
        ("infra_error", "oom_killed", "main"),
    ),
    "the pod vanished under the verifier": (
        seen(agent(), verifier(None, 0, lost="connection reset")),
        ("infra_error", "network", None),
    ),
    "the disk was filled to its ceiling": (
        seen(agent(137, 0), verifier(), reward=0.0, storage_exceeded="yes"),
        ("infra_error", "disk_full", None),
    ),
    "a disk of the node was full": (
        seen(agent(1), verifier(), reward=0.0, node_disk_full="yes"),
        ("infra_error", "disk_full", None),
    ),
    "we broke on a full disk": (
        Evidence(harness_fault="OSError: no space", node_disk_full="yes"),
        ("infra_error", "disk_full", None),
    ),
    "solved on a full disk": (
        seen(agent(), verifier(), reward=1.0, node_disk_full="yes"),
        ("passed", "", None),
    ),
    "told to leave on a full disk": (
        Evidence(fault=Fault(cause="preempted", message="told to"), node_disk_full="yes"),
        ("infra_error", "preempted", None),
    ),
    "past the deadline": (
        seen(agent(None, timed_out=True), deadline_exceeded=True),
        ("infra_error", "deadline", None),
    ),
    "the last call of the model failed": (
        seen(agent(1), verifier(), reward=0.0, api=ApiUse(calls=3, failed=1, last_failed=True)),
        ("infra_error", "model_api", None),
    ),
    "the last call failed, and the trial was solved": (
        seen(agent(1), verifier(), reward=1.0, api=ApiUse(calls=3, failed=1, last_failed=True)),
        ("passed", "", None),
    ),
    "a call failed, and a later one did not": (
        seen(agent(), verifier(), reward=0.0, api=ApiUse(calls=3, failed=2)),
        ("failed", "wrong", None),
    ),
    "time ran out in a call that hung for most of it": (
        seen(
            Phase(name="agent", timed_out=True, wall_s=60, oom_kills=0),
            verifier(),
            reward=0.0,
            api=ApiUse(calls=2, unanswered_s=31),
        ),
        ("infra_error", "model_api", None),
    ),
    "time ran out in a call that had just begun": (
        seen(
            Phase(name="agent", timed_out=True, wall_s=60, oom_kills=0),
            verifier(),
            reward=0.0,
            api=ApiUse(calls=2, unanswered_s=29),
        ),
        ("failed", "agent_timeout", None),
    ),
    "the agent says that its API made it give up": (
        seen(agent(1), verifier(), reward=0.0, api_fault="connection refused"),
        ("infra_error", "model_api", None),
    ),
    "the way out of the pod broke under it": (
        seen(agent(), verifier(), reward=0.0, egress=EgressSeen(lost="its process has died")),
        ("infra_error", "network", None),
    ),
    "the way out broke, and the trial was solved": (
        seen(agent(), verifier(), reward=1.0, egress=EgressSeen(lost="its process has died")),
        ("passed", "", None),
    ),
    "an allowed host gave no answer to the end": (
        seen(agent(1), verifier(), reward=0.0, egress=EgressSeen(hosts=(SILENT,))),
        ("infra_error", "network", None),
    ),
    "an allowed name could not be looked up to the end": (
        seen(agent(1), verifier(), reward=0.0, egress=EgressSeen(dns=(UNKNOWN,))),
        ("infra_error", "network", None),
    ),
    "a host that answered in the end": (
        seen(
            agent(1),
            verifier(),
            reward=0.0,
            egress=EgressSeen(hosts=(SILENT.model_copy(update={"cut_off": False}),)),
        ),
        ("failed", "agent_error", None),
    ),
    "forbidden hosts, and names that do not exist": (
        seen(
            agent(),
            verifier(),
            reward=0.0,
            egress=EgressSeen(
                refused=(RefusedSeen(to="192.0.2.1", port=80, how="tcp"),),
                dns=(
                    DnsSeen(name="evil.test", fault="forbidden", count=9),
                    DnsSeen(name="typo.site.test", fault="no such name"),
                ),
            ),
        ),
        ("failed", "wrong", None),
    ),
    "killed at its ceiling while the API failed": (
        seen(agent(137, 1), api=ApiUse(calls=1, last_failed=True)),
        ("infra_error", "oom_killed", "main"),
    ),
    "the node was lost": (
        Evidence(node_seen="no"),
        ("infra_error", "node_lost", None),
    ),
    "we broke": (
        Evidence(harness_fault="ZeroDivisionError"),
        ("infra_error", "harness", None),
    ),
    "we stopped it": (
        seen(agent(137, 1), reward=1.0, cancelled="interrupted"),
        ("cancelled", "", None),
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_a_story_has_one_outcome(story: str) -> None:
    evidence, (verdict, cause, oom) = STORIES[story]
    outcome = classify(evidence)
    assert (outcome.verdict, outcome.cause, outcome.oom) == (verdict, cause, oom)
    assert outcome.version == VERSION


def test_every_rule_decides_some_story() -> None:
    decided = {classify(evidence).rule for evidence, _ in STORIES.values()}
    assert decided == {rule.name for rule in RULES}


phases = st.builds(
    Phase,
    name=st.sampled_from(["setup", "agent", "verifier"]),
    exit_code=st.sampled_from([None, 0, 1, 126, 137]),
    timed_out=st.booleans(),
    oom_kills=st.sampled_from([None, 0, 1, 3]),
    lost=st.sampled_from(["", "gone"]),
)
evidences = st.builds(
    Evidence,
    node_seen=st.sampled_from(["yes", "no", "unknown"]),
    cancelled=st.sampled_from(["", "stopped"]),
    phases=st.lists(phases, max_size=3, unique_by=lambda p: p.name).map(tuple),
    reward=st.sampled_from([None, 0.0, 0.5, 1.0]),
    storage_exceeded=st.sampled_from(["yes", "no", "unknown"]),
    deadline_exceeded=st.booleans(),
    node_disk_full=st.sampled_from(["yes", "no", "unknown"]),
)


@given(evidences)
def test_a_pass_needs_a_verdict_of_the_verifier(evidence: Evidence) -> None:
    outcome = classify(evidence)
    if outcome.verdict == "passed":
        assert evidence.reward == 1.0
        assert evidence.phase("verifier") is not None


@given(evidences)
def test_a_verdict_has_a_cause_of_its_own_kind(evidence: Evidence) -> None:
    outcome = classify(evidence)
    causes = {"failed": FAILED_CAUSES, "infra_error": INFRA_CAUSES}.get(outcome.verdict, ("",))
    assert outcome.cause in causes


@given(evidences)
def test_without_a_kill_nothing_is_called_an_oom_kill(evidence: Evidence) -> None:
    if not any(phase.oom_kills for phase in evidence.phases):
        outcome = classify(evidence)
        assert outcome.cause != "oom_killed"
        assert outcome.oom is None


@given(evidences)
def test_evidence_survives_being_stored(evidence: Evidence) -> None:
    stored = Evidence.model_validate_json(evidence.model_dump_json())
    assert classify(stored) == classify(evidence)
