"""What a ledger tells of a run beside its counts."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from infranoise.analysis.read_ledger import read_study
from infranoise.analysis.run_facts import RunFacts, known, masked, run_facts
from infranoise.models.evidence import Evidence, Fault
from infranoise.models.ledger.attempts import abandon, owed
from infranoise.models.ledger.ingest import Ending, ingest
from infranoise.models.trial import CellKey

type MakeLedger = Callable[..., Engine]


@pytest.fixture
def run(make_ledger: MakeLedger) -> RunFacts:
    return run_facts(read_study(make_ledger()))


def test_causes_are_counted_per_band_with_and_without_killed_children(run: RunFacts) -> None:
    counts = {c.band: (c.n, c.infra_errors, c.collateral, dict(c.causes)) for c in run.causes}
    assert counts == {
        "1x": (12, 4, 0, {"oom_killed": 4}),
        "2x": (12, 2, 2, {"oom_killed": 2}),
        "uncapped": (12, 0, 0, {}),
    }
    two = run.causes[1]
    assert two.infra_rate is not None
    assert two.infra_rate.est == pytest.approx(2 / 12)
    assert two.infra_rate_without_collateral is not None
    assert two.infra_rate_without_collateral.est == 0.0


def test_kills_are_told_by_their_place(run: RunFacts) -> None:
    assert dict(run.causes[0].kills) == {"main": 4, "collateral": 0, "recovered": 0, "verifier": 0}
    assert dict(run.causes[1].kills) == {"main": 0, "collateral": 2, "recovered": 1, "verifier": 0}
    recovered = [kill for kill in run.kills if kill.place == "recovered"]
    assert [(k.task, k.entry, k.band, k.verdict) for k in recovered] == [
        ("suite/b", "heavy", "2x", "passed")
    ]


def test_samples_killed_low_that_passed_high_are_paired_with_themselves(run: RunFacts) -> None:
    rows = {(row.task, row.entry): row for row in run.killed_then_passed}
    assert set(rows) == {("suite/b", "heavy"), ("suite/c", "heavy")}
    b = rows["suite/b", "heavy"]
    assert (b.rescued, b.samples) == (2, 2)
    assert [(p.sample, p.killed_in, p.passed_in) for p in b.pairs] == [
        (0, "1x", "2x"),
        (1, "1x", "2x"),
    ]
    assert [(o.band, o.n, o.passed, o.oom_killed) for o in b.by_band] == [
        ("1x", 2, 0, 2),
        ("2x", 2, 2, 0),
        ("uncapped", 2, 2, 0),
    ]
    c = rows["suite/c", "heavy"]
    assert {(p.killed_in, p.passed_in) for p in c.pairs} == {("1x", "uncapped")}


def test_a_kill_above_a_pass_is_no_rescue(make_ledger: MakeLedger) -> None:
    def upside_down(cell: CellKey, sample: int) -> Evidence:
        from infranoise.models.evidence import Phase

        killed = cell.band == "uncapped"
        phase = Phase(name="agent", exit_code=137 if killed else 0, oom_kills=int(killed))
        verifier = Phase(name="verifier", exit_code=0, oom_kills=0)
        return Evidence(phases=(phase, verifier), reward=0.0 if killed else 1.0)

    assert run_facts(read_study(make_ledger(upside_down))).killed_then_passed == ()


def test_nodes_settings_readings_and_limits_not_in_force_are_told(run: RunFacts) -> None:
    (node,) = run.nodes
    assert (node.node, node.n, node.infra_errors) == ("local", 36, 6)
    assert node.profile is not None
    assert node.profile.cpu_model == "Test CPU"
    enforced = [s for s in run.settings if s.setting == "enforcement"]
    assert [(s.level, s.attempts, s.infra_errors) for s in enforced] == [("test", 36, 6)]
    load = next(r for r in run.readings if r.reading == "start_load1")
    assert (load.n, load.low, load.median, load.high) == (36, 0.5, 0.5, 0.5)
    assert not any(r.reading == "end_load1" for r in run.readings), "nobody told it"
    (deviation,) = run.deviations
    assert deviation.what == "cpu floor: not in force"
    assert (deviation.attempts, deviation.bands) == (12, ("1x",))


def test_clocks_and_cost_add_up(run: RunFacts) -> None:
    agent = next(clock for clock in run.clocks if clock.part == "agent_s")
    assert (agent.n, agent.median_s, agent.longest_s, agent.total_s) == (36, 1.5, 2.0, 54.0)
    assert run.cost.pod_cpu_s == pytest.approx(18.0)
    assert run.cost.overhead_cpu_s == pytest.approx(0.72)
    assert run.cost.elapsed_s == pytest.approx(4.0)
    assert run.cost.rx_bytes is None, "no attempt told; a sum of nothing is no 0"


def test_an_unfinished_run_counts_what_there_is(make_ledger: MakeLedger) -> None:
    run = run_facts(read_study(make_ledger(stop_after=7)))
    assert (run.planned, run.ended, run.attempts) == (36, 7, 7)
    assert sum(row.n for row in run.causes) == 7


def test_a_run_without_an_outcome_has_facts_too(
    make_ledger: MakeLedger, send: Callable[..., None]
) -> None:
    engine = make_ledger(stop_after=0)
    send(engine, "small", owed(engine, "small")[:1])
    abandon(engine, "small", "interrupted")
    run = run_facts(read_study(engine))
    assert (run.ended, run.attempts, run.nodes, run.clocks) == (0, 1, (), ())
    assert run.causes[0].infra_rate is None
    assert run.cost.elapsed_s is None
    assert dict(run.happened) == {"1 attempts given up": 1}


def test_a_retry_is_an_attempt_and_the_accepted_one_counts(
    make_ledger: MakeLedger, send: Callable[..., None], make_record: Callable[..., object]
) -> None:
    engine = make_ledger(stop_after=0, run={"max_attempts": 2})
    trial = owed(engine, "small")[0]
    lost = Evidence(fault=Fault(cause="start_failed", message="no"))
    for number, evidence in ((1, lost), (2, None)):
        send(engine, "small", owed(engine, "small")[:1])
        record = make_record(trial.id, number, evidence=evidence)
        ingest(engine, [Ending.of(record)], 2)  # type: ignore[arg-type]
    run = run_facts(read_study(engine))
    assert (run.attempts, run.ended) == (2, 1)
    assert sum(row.infra_errors for row in run.causes) == 0


def test_what_is_known_beside_the_counts_names_policies_and_kills(run: RunFacts) -> None:
    beside = known(run)
    assert beside.policies == ("lean", "heavy")
    assert beside.planned == 36
    assert dict(beside.oom_killed or {}) == {"1x": 4, "2x": 2, "uncapped": 0}


def test_a_report_names_options_and_hides_what_is_secret(make_ledger: MakeLedger) -> None:
    study = read_study(make_ledger())
    entry = study.experiment.entries[0].model_copy(
        update={
            "options": {"max_tokens": 99, "api_key": "sk-canary-2f9d71c4b8"},
            "env": {"MAX_TOKENS": "99", "HF_TOKEN": "abc"},
            "command": ("agent", "sk-canary-2f9d71c4b8"),
        }
    )
    shown = masked(study.experiment.model_copy(update={"entries": (entry,)})).entries[0]
    assert shown.options == {"max_tokens": 99, "api_key": "(hidden)"}
    assert shown.env == {"MAX_TOKENS": "99", "HF_TOKEN": "(hidden)"}
    assert shown.command == ("agent", "(hidden)")
