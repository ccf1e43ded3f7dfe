"""A fleet at work: nothing is lost and nothing is counted twice, whoever goes and comes."""

import signal
from collections import Counter

import pytest
from own_fleet import SLOW, Fleet, until

from infranoise.models.errors import BrokerError, DesignError
from infranoise.models.ledger.finding import find_trials
from infranoise.models.ledger.nodes import probes

BRIEF = "sleep 1; touch answer"


@pytest.fixture(autouse=True)
def whole(fleet: Fleet) -> None:
    """At first two schedulers and two nodes; the last tests end them one after the other."""
    if not fleet.schedulers:
        for node in ("n1", "n2"):
            fleet.worker(node, "--grace", "2")
        fleet.scheduler()
        fleet.scheduler()
        fleet.await_up("n1", "n2")


def once_each(fleet: Fleet, name: str) -> None:
    """Every trial has one accepted attempt, and the cells count each once."""
    lines = fleet.attempts(name)
    accepted = Counter(line.trial for line in lines if line.accepted)
    assert set(accepted.values()) == {1}
    assert accepted.keys() == {line.trial for line in lines}
    assert sum(accepted.values()) == fleet.standing(name).planned == fleet.standing(name).n


def test_a_submitted_experiment_runs_on_all_nodes_to_one_outcome_each(fleet: Fleet) -> None:
    name = fleet.submit(fleet.experiment(samples=6))
    until(lambda: fleet.done(name), "every trial has an outcome")
    once_each(fleet, name)
    lines = fleet.attempts(name)
    assert {line.verdict for line in lines} == {"passed"}
    assert {line.node for line in lines} == {"n1", "n2"}
    told = fleet.told("status", name)
    assert {band["band"]: band["passed"] for band in told["bands"]} == {"1x": 6, "uncapped": 6}
    assert [node["condition"] for node in told["fleet"]["nodes"]] == ["up", "up"]


def test_what_an_attempt_left_is_found_by_its_key_and_its_ids(fleet: Fleet) -> None:
    name = fleet.submit(fleet.experiment(samples=1))
    until(lambda: fleet.done(name), "every trial has an outcome")
    line = fleet.attempts(name)[0]
    for text in (f"tasks/{name}|oracle|{line.band}|#0", line.trial, line.id):
        assert [found.id for found in find_trials(fleet.engine, text)] == [line.trial]
    shown = fleet.told("trial", "show", line.trial)["attempts"][0]
    assert shown["record"]["conditions"]["node"] == line.node
    assert fleet.told("logs", line.id)["logs"] == {"agent.stdout": "at work\n"}


def test_a_node_is_probed_at_its_start_and_when_asked_and_the_ledger_keeps_it(
    fleet: Fleet,
) -> None:
    first = fleet.told("nodes", "show", "n1")
    assert first["probe"]["cpu_ops_s"]["median"] > 0
    assert first["profile"]["cpu_caches"] or first["profile"]["cpu_model"]
    again = fleet.told("nodes", "probe", "n1")["probe"]
    assert again["at"] > first["probe"]["at"]
    assert again["co_running"] == 0
    name = fleet.submit(fleet.experiment(samples=1))  # who leads looks at nodes while there is work
    until(lambda: fleet.done(name), "every trial has an outcome")
    kept = {round(one.at, 3) for one in probes(fleet.engine, "n1")}
    assert round(again["at"], 3) in kept
    around = next(line.record for line in fleet.attempts(name) if line.record).conditions
    assert around.probe is not None
    assert around.clock_offset_s is not None


def test_a_node_at_work_is_probed_only_beside_its_trials_and_if_that_is_wanted(
    fleet: Fleet,
) -> None:
    name = fleet.submit(fleet.experiment(solution=SLOW, samples=1, bands=("1x",)))
    until(lambda: fleet.leases.holds("n1") or fleet.leases.holds("n2"), "it is under way")
    busy = "n1" if fleet.leases.holds("n1") else "n2"
    with pytest.raises(DesignError, match="attempts are under way on it"):
        fleet.run("nodes", "probe", busy)
    assert fleet.told("nodes", "probe", busy, "--now")["probe"]["co_running"] > 0
    fleet.steer(name, "cancelled")
    until(lambda: not fleet.leases.holds(busy), "it holds nothing")


def test_what_no_node_can_hold_is_refused_with_the_reason(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    file = fleet.experiment()
    task = fleet.folder / "tasks" / file.stem / "task.toml"
    task.write_text(task.read_text() + "cpus = 64\n")
    file.write_text(file.read_text().replace('["1x", "uncapped"]', '["1x"]'))
    with pytest.raises(DesignError, match="1 task"):
        fleet.submit(file)
    said = " ".join(capsys.readouterr().out.split())
    assert "band 1x reserves 64 cpus" in said
    assert "no node that offers process pods holds that (the largest, n1, has 8 cpus" in said


def test_a_paused_experiment_sends_nothing_and_loses_nothing(fleet: Fleet) -> None:
    name = fleet.submit(fleet.experiment(BRIEF, samples=8))
    until(lambda: fleet.standing(name).n > 0, "it is under way")
    fleet.steer(name, "paused")
    until(lambda: fleet.standing(name).under_way == 0, "what was under way has ended")
    assert fleet.standing(name).n < fleet.standing(name).planned
    fleet.steer(name, "active")
    until(lambda: fleet.done(name), "every trial has an outcome")
    once_each(fleet, name)


def test_a_cancelled_experiment_is_stopped_where_it_runs(fleet: Fleet) -> None:
    name = fleet.submit(fleet.experiment(SLOW))
    until(lambda: fleet.pods("n1") and fleet.pods("n2"), "both nodes are at work")
    fleet.steer(name, "cancelled")
    until(lambda: fleet.standing(name).under_way == 0, "it was given up")
    until(lambda: not (fleet.pods("n1") or fleet.pods("n2")), "its pods are gone")
    assert {line.verdict for line in fleet.attempts(name)} == {"cancelled"}
    until(lambda: all(n.free == n.total for n in fleet.leases.nodes()), "all capacity is free")


def test_a_drained_node_gets_nothing(fleet: Fleet) -> None:
    with fleet.drained("n1"):
        name = fleet.submit(fleet.experiment(samples=1))
        until(lambda: fleet.done(name), "every trial has an outcome")
    assert {line.node for line in fleet.attempts(name)} == {"n2"}


def test_a_node_has_an_id_of_its_own(fleet: Fleet) -> None:
    with pytest.raises(BrokerError, match="another worker calls itself n1 and is alive"):
        fleet.run("worker", "--node", "n1")


def test_a_leader_that_stood_still_finds_that_another_leads(fleet: Fleet) -> None:
    until(lambda: fleet.leases.leader(), "one leads")
    pid = int(fleet.leases.leader().split(":")[1])
    old = next(one for one in fleet.schedulers if one.pid == pid)
    name = fleet.submit(fleet.experiment(BRIEF))
    until(lambda: fleet.standing(name).under_way > 0, "it is under way")
    old.send(signal.SIGSTOP)
    until(lambda: f":{pid}:" not in (fleet.leases.leader() or f":{pid}:"), "another leads")
    old.send(signal.SIGCONT)
    until(lambda: "lost the lead" in old.said() or "was deposed" in old.said(), "it noticed", old)
    until(lambda: fleet.done(name), "every trial has an outcome")
    once_each(fleet, name)
    assert {line.verdict for line in fleet.attempts(name) if line.accepted} == {"passed"}


def test_another_scheduler_takes_over_from_one_that_is_killed(fleet: Fleet) -> None:
    until(lambda: fleet.leases.leader(), "one leads")
    pid = int(fleet.leases.leader().split(":")[1])
    name = fleet.submit(fleet.experiment(BRIEF))
    until(lambda: fleet.standing(name).under_way > 0, "it is under way")
    next(one for one in fleet.schedulers if one.pid == pid).kill()
    until(lambda: fleet.done(name), "the other finishes it")
    assert fleet.leases.leader().split(":")[1] != str(pid)
    once_each(fleet, name)


def test_a_killed_worker_is_noticed_and_the_others_go_on(fleet: Fleet) -> None:
    name = fleet.submit(fleet.experiment(BRIEF, samples=3, max_attempts=2))
    until(lambda: fleet.pods("n2"), "n2 is at work")
    fleet.workers["n2"].kill()
    until(lambda: fleet.done(name), "every trial has an outcome")
    once_each(fleet, name)
    lines = fleet.attempts(name)
    lost = [line for line in lines if line.cause == "node_lost"]
    assert {line.node for line in lost} == {"n2"}
    assert all(line.number == 1 and not line.accepted for line in lost)
    assert {line.verdict for line in lines if line.accepted} == {"passed"}
    assert {line.verdict for line in lines} <= {"passed", "infra_error", "cancelled"}


def test_a_worker_that_is_told_to_go_ends_what_it_can_and_says_why_of_the_rest(
    fleet: Fleet,
) -> None:
    slow = fleet.submit(fleet.experiment(SLOW, samples=1, bands=["1x"]))
    until(lambda: len(fleet.pods("n1")) == 1, "one slot is taken")
    brief = fleet.submit(fleet.experiment(BRIEF, samples=1, bands=["1x"]))
    until(lambda: len(fleet.pods("n1")) == 2, "all slots are taken")
    fleet.workers["n1"].send(signal.SIGTERM)
    assert fleet.workers["n1"].ended() == 0
    assert not fleet.pods("n1")
    until(lambda: fleet.done(brief) and fleet.done(slow), "the records have come home")
    assert [line.verdict for line in fleet.attempts(brief)] == ["passed"]
    assert [line.cause for line in fleet.attempts(slow)] == ["preempted"]
    assert all("was told to leave" in (line.detail or "") for line in fleet.attempts(slow))
    assert fleet.condition("n1") in ("leaving", "left")


def test_schedulers_step_down_when_they_are_told_to(fleet: Fleet) -> None:
    alive = [scheduler for scheduler in fleet.schedulers if scheduler.alive]
    for scheduler in alive:
        scheduler.send(signal.SIGTERM)
    assert {scheduler.ended() for scheduler in alive} == {0}
    assert not fleet.leases.leader()
