"""Rounds complete in their order; the judge is asked once after each, and heeded once."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine

from infranoise.models.band import Band
from infranoise.models.evidence import Evidence, Phase
from infranoise.models.experiment import Experiment
from infranoise.models.ledger.attempts import Owed, place
from infranoise.models.ledger.enrol import enrol
from infranoise.models.ledger.ingest import Ending, ingest
from infranoise.models.ledger.replays import ask_replay
from infranoise.models.ledger.store import open_store
from infranoise.models.message import AttemptRecord
from infranoise.models.task import Task
from infranoise.scheduler.orders import order, sample_seed
from infranoise.scheduler.plan import plan
from infranoise.scheduler.rounds import Stop, Watch
from infranoise.scheduler.window import Window

KILLED = Evidence(phases=(Phase(name="agent", exit_code=137, oom_kills=1),))
STOP = Stop("seen enough", "{}")


@pytest.fixture
def experiment(make_experiment: Callable[..., Experiment]) -> Experiment:
    """One task, one entry, two bands, three samples: three waves of two trials."""
    return make_experiment(
        samples=3,
        bands=[Band.shorthand("1x"), Band.shorthand("3x")],
        entries=[{"agent": "oracle"}],
        factors={},
    )


@pytest.fixture
def engine(tmp_path: Path, experiment: Experiment, make_task: Callable[..., Task]) -> Engine:
    store = open_store(tmp_path / "ledger.sqlite")
    tasks = [make_task()]
    enrol(store, experiment, tasks, plan(experiment, tasks).waves)
    return store


class Run:
    """A window whose trials end at once."""

    def __init__(self, engine: Engine, make_record: Callable[..., AttemptRecord]) -> None:
        self.engine, self._make = engine, make_record
        self.window = Window.open(engine, "small")
        self.window.top_up()

    def next(self, evidence: Evidence | None = None) -> Owed:
        """Send and end the first trial that waits."""
        one = next(iter(self.window.ready.values()))
        self.window.went_out([(one.id, "local")])
        place(self.engine, "small", "local", [one])
        record = self._make(one.id, one.next_number, evidence=evidence)
        (ended,) = ingest(self.engine, [Ending.of(record)], 1)
        self.window.came_home(ended.attempt, again=not ended.accepted)
        return one


@pytest.fixture
def run(engine: Engine, make_record: Callable[..., AttemptRecord]) -> Run:
    return Run(engine, make_record)


def test_the_judge_is_asked_once_per_round_in_order(engine: Engine) -> None:
    asked: list[int] = []
    watch = Watch(lambda rounds: asked.append(rounds))
    assert watch.begin(engine, "small") is None
    for sample in (1, 0, 1, 0, 2, 2):  # the second round completes before the first
        watch.ended(sample)
    assert asked == [2, 3]


def test_a_run_that_is_taken_up_again_is_judged_at_once(run: Run) -> None:
    run.next()
    run.next()
    watch = Watch(lambda rounds: STOP if rounds == 1 else None)
    assert watch.begin(run.engine, "small") == STOP
    assert watch.ended(1) is None, "it was heeded once"


def test_after_a_stop_the_waves_that_had_begun_end_and_no_other_begins(run: Run) -> None:
    for _ in range(3):
        run.next()
    run.window.end_with_begun_waves()
    assert [one.wave for one in run.window.ready.values()] == [1]
    run.next()
    run.window.top_up()
    assert run.window.finished
    again = Window.open(run.engine, "small")
    again.top_up()
    assert [one.wave for one in again.ready.values()] == [2, 2], "a later run may go on"


def test_kills_are_replayed_last_with_their_own_seed_at_the_higher_ceiling(
    run: Run, experiment: Experiment, make_task: Callable[..., Task]
) -> None:
    ask_replay(run.engine, experiment, "3x")
    while not run.window.finished:
        if not run.window.ready:
            run.window.top_up()
            continue
        one = next(iter(run.window.ready.values()))
        if one.replay is not None:
            break
        key = run.window.key(one.id)
        run.next(KILLED if key.cell.band == "1x" else None)
    assert len(run.window.ready) == 3
    assert {one.replay.ceiling for one in run.window.ready.values() if one.replay} == {"3x"}
    want = run.window.line(0.0).waiting[0]
    assert want.band == "3x"
    key = run.window.key(one.id)
    tasks = {key.cell.task: make_task()}
    message = order(experiment, tasks, one, key, queued_at=0, now=0)
    assert message.limits.memory_ceiling_bytes == 3 * 64 * 2**20
    assert message.seed == sample_seed(experiment.seed, key)
    assert (message.number, message.replay_in) == (2, "3x")
    while not run.window.finished:
        run.next() if run.window.ready else run.window.top_up()
    assert not run.window.running
