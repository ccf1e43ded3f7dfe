"""Specification of taking in what others ran: once, whole or not at all, in their own order."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine

from infranoise.models.band import Band
from infranoise.models.conditions import UNRECORDED
from infranoise.models.entry import Entry
from infranoise.models.errors import LedgerError
from infranoise.models.experiment import Experiment
from infranoise.models.foreign import (
    Facts,
    ForeignAttempt,
    ForeignTrial,
    told_clocks,
    told_conditions,
    told_evidence,
    told_fault,
    told_origin,
    told_phase,
    told_usage,
)
from infranoise.models.ledger import reading
from infranoise.models.ledger.adopt import Adopted, Adoption
from infranoise.models.ledger.enrol import enrol
from infranoise.models.ledger.sources import sources, write_source
from infranoise.models.source import Source, Total, Unrecorded
from infranoise.models.task import Task
from infranoise.models.trial import CellKey, TrialKey
from infranoise.models.waves import PlannedTrial, Wave

LOST = told_evidence(node_seen="unknown", fault=told_fault(cause="evicted", message="gone"))
CANCELLED = told_evidence(node_seen="unknown", cancelled="by its user")


@pytest.fixture
def engine(store: Engine) -> Engine:
    return store


def graded(reward: float) -> Facts:
    return told_evidence(node_seen="unknown", phases=(told_phase(name="verifier"),), reward=reward)


def attempt(evidence: Facts, name: str = "one") -> ForeignAttempt:
    return ForeignAttempt(
        evidence=evidence,
        conditions=told_conditions(
            node=UNRECORDED,
            node_profile=None,
            runtime=UNRECORDED,
            network=UNRECORDED,
            requested=None,
            slots=None,
            hour_utc=None,
            weekday=None,
        ),
        usage=told_usage(),
        clocks=told_clocks(received_at=None, ended_at=None),
        origin=told_origin(kind="harbor", id=name),
    )


def trial(identity: str, *evidence: Facts, task: str = "t", **levels: str) -> ForeignTrial:
    return ForeignTrial(
        identity=identity,
        task=Task(name=task, title=task, directory=Path(), content_hash="", environment_hash=""),
        entry=Entry(agent="a", model="m"),
        band=Band(name="docker", stated=False),
        levels=tuple(levels.items()),
        run="run 1",
        attempts=tuple(attempt(e) for e in evidence or (graded(1.0),)),
    )


def take(engine: Engine, *trials: ForeignTrial, factors: tuple[str, ...] = ()) -> Adopted:
    adoption = Adoption(engine, "others", factors)
    with adoption.transaction():
        return adoption.take(adoption.told(trials))


def test_what_is_taken_in_is_counted_in_its_cell(engine: Engine) -> None:
    took = take(engine, trial("a"), trial("b", graded(0.0)), trial("c", LOST))
    assert took == Adopted(new=3)
    (cell,) = reading.cell_counts(engine, "others")
    assert (cell.planned, cell.n, cell.passed, cell.infra_errors) == (3, 3, 1, 1)
    lines = list(reading.attempts(engine, "others"))
    assert [line.sample for line in lines] == [0, 1, 2]
    assert {line.cause for line in lines if line.verdict == "infra_error"} == {"evicted"}
    assert all(line.record and line.record.origin for line in lines)


def test_the_same_trials_again_change_nothing(engine: Engine) -> None:
    take(engine, trial("a"), trial("b"))
    before = reading.cell_counts(engine, "others")
    assert take(engine, trial("b"), trial("a"), trial("a")) == Adopted(known=3)
    assert reading.cell_counts(engine, "others") == before


def test_one_identity_with_two_contents_is_named_and_the_first_counts(engine: Engine) -> None:
    assert take(engine, trial("a"), trial("a", graded(0.0))).conflicts == ("a",)
    assert take(engine, trial("a", graded(0.0))).conflicts == ("a",)
    (cell,) = reading.cell_counts(engine, "others")
    assert (cell.n, cell.passed) == (1, 1)
    assert [e.kind for e in reading.events(engine, "others")] == ["conflicting import"] * 2


def test_a_block_that_fails_leaves_nothing_behind_and_the_next_one_goes_in(engine: Engine) -> None:
    adoption = Adoption(engine, "others")

    def broken() -> None:
        with adoption.transaction():
            adoption.take(adoption.told([trial("a")]))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert reading.experiments(engine) == ()
    with adoption.transaction():
        assert adoption.take(adoption.told([trial("a")])).new == 1
    assert reading.progress(engine, "others") == (1, 1)


def test_one_transaction_may_take_many_times(engine: Engine) -> None:
    adoption = Adoption(engine, "others")
    with adoption.transaction():
        for name in ("a", "b", "c"):
            adoption.take(adoption.told([trial(name)]))
    (cell,) = reading.cell_counts(engine, "others")
    assert (cell.planned, cell.n, cell.passed) == (3, 3, 3)


def test_later_imports_go_on_where_earlier_ones_stopped(engine: Engine) -> None:
    take(engine, trial("a"))
    take(engine, trial("b"), trial("c", task="u"))
    cells = {cell.task: cell for cell in reading.cell_counts(engine, "others")}
    assert {task: cell.n for task, cell in cells.items()} == {"t": 2, "u": 1}
    assert [line.sample for line in reading.attempts(engine, "others")] == [0, 1, 0]


ENDINGS: dict[str, tuple[tuple[Facts, ...], str | None]] = {
    "the last attempt counts, whatever the first was": ((LOST, graded(1.0)), "passed"),
    "an earlier success does not hide a later loss": ((graded(1.0), LOST), "infra_error"),
    "a cancelled trial has no outcome": ((CANCELLED,), None),
}


@pytest.mark.parametrize("case", ENDINGS)
def test_which_attempt_is_the_trials(engine: Engine, case: str) -> None:
    evidence, verdict = ENDINGS[case]
    take(engine, trial("a", *evidence))
    lines = list(reading.attempts(engine, "others"))
    assert [line.number for line in lines] == list(range(1, len(evidence) + 1))
    assert [line.verdict for line in lines if line.accepted] == ([verdict] if verdict else [])


def test_a_trial_that_never_ran_is_planned_and_has_no_outcome(engine: Engine) -> None:
    never = trial("a")
    adoption = Adoption(engine, "others")
    with adoption.transaction():
        adoption.take(adoption.told([never._replace(run="", attempts=())]))
    assert reading.progress(engine, "others") == (0, 1)


def test_the_first_import_decides_the_factors_and_the_rest_is_unrecorded(engine: Engine) -> None:
    take(engine, trial("a", concurrency="8"), trial("b"), factors=("concurrency",))
    take(engine, trial("c", concurrency="8", moon="full"), factors=("concurrency", "moon"))
    levels = {cell.levels["concurrency"]: cell.n for cell in reading.cell_counts(engine, "others")}
    assert levels == {"8": 2, UNRECORDED: 1}


def test_an_experiment_that_was_run_here_takes_in_nothing(
    engine: Engine, make_experiment: Callable[..., Experiment], make_task: Callable[..., Task]
) -> None:
    key = TrialKey(cell=CellKey(task="t", entry="lean", band="1x"), sample=0)
    wave = Wave(0, (), (PlannedTrial(id="x", key=key, wave=0, position=0),))
    enrol(engine, make_experiment(name="others"), [make_task()], [wave])
    with pytest.raises(LedgerError, match="was run here"):
        take(engine, trial("a"))


def test_a_source_is_kept_once_per_tree(engine: Engine) -> None:
    take(engine, trial("a"))
    source = Source(
        kind="harbor",
        path="jobs/a",
        content_hash="1",
        harness="Harbor 0.24.0",
        files=1,
        trials=1,
        modes_version=1,
        unrecorded=(Unrecorded(what="OOM kills", why="no counter", trials=3),),
        totals=(Total(what="trials", theirs=1, ours=1),),
    )
    for version in ("1", "2"):
        write_source(engine, "others", source.model_copy(update={"content_hash": version}))
    (kept,) = sources(engine, "others")
    assert kept.content_hash == "2"
    assert kept.totals[0].agrees
