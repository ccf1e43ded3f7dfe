"""Specification of the Harbor importer: what its jobs tell, and what they hide."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infranoise.importers.kinds import detected
from infranoise.importers.modes import Modes, Rule
from infranoise.importers.modes_builtin import HARBOR
from infranoise.models.band import Band
from infranoise.models.load import Load
from infranoise.models.node import NodeProfile
from infranoise.models.stamp import STAMP_FILE, Stamp

from .conftest import Took, clock, harbor_job, harbor_result, write

Take = Callable[..., Took]
TIMED_OUT = ("AgentTimeoutError", "Agent execution timed out after 30.0 seconds")

# Reward, exception, seconds of the agent -> verdict and cause.
ENDINGS: dict[str, tuple[float | None, tuple[str, str] | None, float, tuple[str, str]]] = {
    "solved": (1.0, None, 30, ("passed", "")),
    "wrong": (0.0, None, 30, ("failed", "wrong")),
    "half right": (0.5, None, 30, ("failed", "wrong")),
    "out of time": (0.0, TIMED_OUT, 30.01, ("failed", "agent_timeout")),
    "out of time, yet solved": (1.0, TIMED_OUT, 30.01, ("passed", "")),
    "an infrastructure timeout stored as the agent's": (
        0.0, TIMED_OUT, 0.2, ("infra_error", "unknown")),
    "its verifier left nothing": (
        None, ("RewardFileNotFoundError", "No reward file"), 30, ("infra_error", "verifier_error")),
    "its verifier ran out of time": (
        None, ("VerifierTimeoutError", "after 600 s"), 30, ("infra_error", "verifier_error")),
    "its agent broke": (
        0.0, ("NonZeroAgentExitCodeError", "exit code 2"), 30, ("failed", "agent_error")),
    "its agent broke for want of disk": (
        0.0, ("NonZeroAgentExitCodeError", "No space left on device"), 30,
        ("infra_error", "disk_full")),
    "its provider refused": (
        0.0, ("ApiRateLimitError", "429"), 30, ("infra_error", "model_api")),
    "its provider refused once, yet it solved it": (
        1.0, ("ApiRateLimitError", "429"), 30, ("passed", "")),
    "its image did not build": (
        None, ("SandboxBuildFailedError", "x"), 0, ("infra_error", "image_build")),
    "its image could not be had": (
        None, ("RuntimeError", "manifest unknown"), 0, ("infra_error", "image_pull")),
    "its pod vanished": (None, ("GKEPodNotFoundError", "x"), 0, ("infra_error", "node_lost")),
    "its pod was evicted": (
        None, ("ApiException", "The node was low on memory: pod evicted"), 0,
        ("infra_error", "evicted")),
    "its agent used up its context": (
        0.0, ("ContextLengthExceededError", "x"), 30, ("failed", "wrong")),
    "something that nobody knows": (
        None, ("OddError", "odd"), 0, ("infra_error", "unknown")),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDINGS)
def test_every_way_to_end_is_read_as_one_of_ours(take: Take, tmp_path: Path, case: str) -> None:
    reward, exception, agent_s, expected = ENDINGS[case]
    result = harbor_result(reward=reward, exception=exception, agent_s=agent_s)
    assert take("harbor", harbor_job(tmp_path / "job", result)).outcomes == {"mend": expected}


def test_a_cancelled_trial_has_no_outcome(take: Take, tmp_path: Path) -> None:
    result = harbor_result(reward=None, exception=("CancelledError", ""))
    took = take("harbor", harbor_job(tmp_path / "job", result))
    assert took.outcomes == {}
    assert (took.cells[0].planned, took.cells[0].n) == (1, 0)


def test_a_silent_kill_stays_unknown_and_is_counted_as_possible(take: Take, tmp_path: Path) -> None:
    job = harbor_job(
        tmp_path / "job", harbor_result("a", reward=0.0), harbor_result("b", reward=1.0)
    )
    took = take("harbor", job)
    evidence = [line.record.evidence for line in took.attempts if line.record]
    assert {phase.oom_kills for e in evidence for phase in e.phases} == {None}
    assert {e.node_seen for e in evidence} == {"unknown"}
    assert took.lacks["OOM kills"] == 1


def test_an_early_agent_timeout_says_what_it_was(take: Take, tmp_path: Path) -> None:
    result = harbor_result(reward=0.0, exception=TIMED_OUT, agent_s=0.2)
    took = take("harbor", harbor_job(tmp_path / "job", result))
    (line,) = took.attempts
    assert line.detail is not None
    assert "timeout of 30 s, but the agent had run 0.2 s" in line.detail
    assert took.lacks["agent timeouts that were none"] == 1


def test_a_pass_after_the_agents_time_is_counted(take: Take, tmp_path: Path) -> None:
    result = harbor_result(reward=1.0, exception=TIMED_OUT, agent_s=30.1)
    took = take("harbor", harbor_job(tmp_path / "job", result))
    assert took.lacks["work after the agent's time was up"] == 1


RETRIED = """Trial mend__abc1234 failed: Connection reset by peer
Trial mend__abc1234 failed with exception RuntimeError. Retrying in 1.00 seconds...
Trial mend__abc1234 failed with exception OddError. Retrying in 2.00 seconds...
"""


def test_erased_retries_come_back_as_attempts(take: Take, tmp_path: Path) -> None:
    job = harbor_job(tmp_path / "job", harbor_result(), log=RETRIED, n_retries=3)
    took = take("harbor", job)
    told = [(line.number, line.verdict, line.cause, line.accepted) for line in took.attempts]
    assert told == [
        (1, "infra_error", "network", False),
        (2, "infra_error", "unknown", False),
        (3, "passed", "", True),
    ]
    assert took.lacks["retried attempts"] == 2
    assert took.lacks["retried attempts without a trace"] == 1
    assert took.cells[0].n == 1


def test_its_own_totals_are_met_and_differences_explained(take: Take, tmp_path: Path) -> None:
    exception = ("OddError", "odd")
    job = harbor_job(
        tmp_path / "job",
        harbor_result("a"),
        harbor_result("b", reward=0.25),
        harbor_result("c", reward=None, exception=exception),
        n_completed_trials=4,
    )
    write(job / "d__lost" / "config.json", {})
    took = take("harbor", job)
    totals = {t.what.split(": ")[1]: t for t in took.brought.source.totals}
    assert totals["trials with an exception"].agrees
    assert (totals["sum of rewards"].theirs, totals["sum of rewards"].ours) == (1.25, 1.25)
    assert (totals["trials"].theirs, totals["trials"].ours) == (4, 3)
    assert totals["trials"].note == "1 folders hold no result"
    assert took.lacks["trials cut off"] == 1


def test_what_is_told_of_a_trial_is_kept(take: Take, tmp_path: Path) -> None:
    result = harbor_result(
        agent_result={"n_input_tokens": 9, "n_output_tokens": 1, "cost_usd": 0.5,
                      "metadata": {"api_request_times_msec": [1500.0, 500]}},
    )  # fmt: skip
    result["config"]["agent_timeout_multiplier"] = 2.0
    result["config"]["agent"]["override_timeout_sec"] = 90
    took = take("harbor", harbor_job(tmp_path / "job", result, slots=8))
    record = took.attempts[0].record
    assert record is not None
    assert record.origin is not None
    assert (record.usage.api_calls, record.clocks.api_wait_s) == (2, 2.0)
    assert (record.usage.input_tokens, record.usage.cost_usd) == (9, 0.5)
    assert (record.clocks.start_s, record.clocks.agent_s, record.clocks.verifier_s) == (4, 30, 2)
    assert (record.conditions.time_limit, record.conditions.agent_timeout_s) == (2.0, 90)
    assert (record.conditions.hour_utc, record.conditions.weekday) == (12, 4)
    assert record.conditions.slots == 8
    assert record.origin.harness == "Harbor 0.24.0"
    assert record.origin.task_hash == "c0ffee"
    assert record.conditions.requested is None
    assert took.cells[0].levels == {"concurrency": "8"}


def test_concurrency_in_force_is_counted_from_the_clocks(take: Take, tmp_path: Path) -> None:
    job = harbor_job(
        tmp_path / "job",
        harbor_result("a", start=0, agent_s=60),  # ends at 75
        harbor_result("b", start=30, agent_s=60),  # ends at 105
        harbor_result("c", start=80, agent_s=60),
    )
    took = take("harbor", job)
    found = {
        line.task: (c.co_running_start, c.co_running_peak, c.co_running_end)
        for line in took.attempts
        if line.record and (c := line.record.conditions)
    }
    assert found == {"a": (0, 1, 1), "b": (1, 1, 1), "c": (1, 1, 0)}


def test_steps_are_one_trial(take: Take, tmp_path: Path) -> None:
    steps = [
        {"agent_execution": clock(0, 10), "verifier": clock(10, 11), "exception_info": None},
        {"agent_execution": clock(11, 31), "verifier": clock(31, 33), "exception_info": {
            "exception_type": "AgentTimeoutError", "exception_message": "x"}},
    ]  # fmt: skip
    result = harbor_result(reward=0.0, agent_execution=None, verifier=None, step_results=steps)
    took = take("harbor", harbor_job(tmp_path / "job", result))
    record = took.attempts[0].record
    assert record is not None
    assert (record.clocks.agent_s, record.clocks.verifier_s) == (30, 3)
    assert took.outcomes == {"mend": ("failed", "agent_timeout")}


DOCKER = {"type": "docker", "cpu_enforcement_policy": "auto"}
SETTINGS: dict[str, tuple[dict[str, Any], str, str]] = {
    "plain": ({"environment": DOCKER}, "terminus-2/anthropic/claude", "docker"),
    "an agent's setting": (
        {"environment": DOCKER, "agent": {"kwargs": {"effort": "high", "api_key": "hidden"}}},
        "terminus-2/anthropic/claude (effort=high)", "docker"),
    "more memory": (
        {"environment": {"type": "docker", "override_memory_mb": 4096}},
        "terminus-2/anthropic/claude", "docker-memory-4096MB"),
    "another policy elsewhere": (
        {"environment": {"type": "gke", "memory_enforcement_policy": "guarantee",
                         "override_cpus": 0.5}},
        "terminus-2/anthropic/claude", "gke-memory-guarantee-cpus-0.5"),
}  # fmt: skip


@pytest.mark.parametrize("case", SETTINGS)
def test_entries_and_bands_are_named_after_their_settings(
    take: Take, tmp_path: Path, case: str
) -> None:
    config, entry, band = SETTINGS[case]
    took = take("harbor", harbor_job(tmp_path / "job", harbor_result(config=config)))
    assert (took.brought.entries, took.brought.bands) == ((entry,), (band,))
    assert "hidden" not in json.dumps(
        [line.record.encode() for line in took.attempts if line.record]
    )


def test_the_user_may_say_what_the_configuration_was(take: Take, tmp_path: Path) -> None:
    job = harbor_job(tmp_path / "job", harbor_result())
    took = take("harbor", job, band=Band.shorthand("3x"), entry="mine")
    assert (took.brought.entries, took.brought.bands) == (("mine",), ("3x",))


def test_the_user_may_say_what_an_ending_means(take: Take, tmp_path: Path) -> None:
    job = harbor_job(tmp_path / "job", harbor_result(reward=None, exception=("OddError", "x")))
    modes = Modes((Rule("Odd*", "preempted"), *HARBOR), overrides="abc")
    took = take("harbor", job, modes=modes)
    assert took.outcomes == {"mend": ("infra_error", "preempted")}
    assert took.brought.source.overrides == "abc"
    (mode,) = took.brought.source.modes
    assert (mode.mode, mode.judged, mode.attempts) == ("OddError", "preempted", 1)


def test_a_stamp_brings_the_node_and_its_load(take: Take, tmp_path: Path) -> None:
    job = harbor_job(tmp_path / "job", harbor_result())
    profile = NodeProfile(architecture="x86_64", kernel="6.1")
    stamp = Stamp(node="n1", profile=profile, load_start=Load(load1=0.5))
    (job / "mend__abc1234" / STAMP_FILE).write_text(stamp.model_dump_json())
    took = take("harbor", job)
    record = took.attempts[0].record
    assert record is not None
    assert (record.conditions.node, record.conditions.load_start) == ("n1", Load(load1=0.5))
    assert took.brought.profiles == {"n1": profile}
    assert "node, load and neighbours outside the job" not in took.lacks


def test_kills_on_a_stamped_node_are_told_and_blamed_on_nobody(take: Take, tmp_path: Path) -> None:
    job = harbor_job(tmp_path / "job", harbor_result(reward=0.0))
    stamp = Stamp(
        node="n1",
        profile=NodeProfile(architecture="x86_64", kernel="6.1"),
        load_start=Load(system_oom_kills=7),
        load_end=Load(system_oom_kills=8),
    )
    (job / "mend__abc1234" / STAMP_FILE).write_text(stamp.model_dump_json())
    took = take("harbor", job)
    assert took.lacks["whose OOM kills they were"] == 1
    assert took.outcomes == {"mend": ("failed", "wrong")}


def test_a_broken_trial_is_named_and_the_others_go_in(take: Take, tmp_path: Path) -> None:
    job = harbor_job(
        tmp_path / "job",
        harbor_result("a"),
        harbor_result("b", verifier_result={"rewards": {"reward": "much"}}),
    )
    (job / "c__cut").mkdir()
    (job / "c__cut" / "result.json").write_text('{"task_name": "c", ')
    took = take("harbor", job)
    assert took.outcomes == {"a": ("passed", "")}
    assert len(took.faults) == 2
    assert any("c__cut/result.json: line 1" in fault for fault in took.faults)
    assert any(
        "b__abc1234/result.json: rewards.reward: a reward of 'much'" in f for f in took.faults
    )


def test_several_rewards_need_a_word_which_one_counts(take: Take, tmp_path: Path) -> None:
    rewards = {"verifier_result": {"rewards": {"tests": 1.0, "style": 0.5}}}
    job = harbor_job(tmp_path / "job", harbor_result(**rewards))
    assert take("harbor", job).attempts[0].reward == 0.75
    chosen = harbor_job(tmp_path / "again", harbor_result(trial="mend__other", **rewards))
    took = take("harbor", chosen, reward="tests")
    assert [line.reward for line in took.attempts] == [0.75, 1.0]


@pytest.mark.parametrize("where", [".", "job", "job/mend__abc1234", "job/result.json"])
def test_a_job_is_found_from_above_and_from_inside(take: Take, tmp_path: Path, where: str) -> None:
    harbor_job(tmp_path / "jobs" / "job", harbor_result())
    took = take("harbor", tmp_path / "jobs" / where)
    assert took.outcomes == {"mend": ("passed", "")}
    assert detected(tmp_path / "jobs").kind == "harbor"
