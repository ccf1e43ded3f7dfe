"""`--until` and `--looks`: what they mean, and what they refuse."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine

from infranoise.analysis.stopping import StopRule
from infranoise.cli.until import Monitor, stop_rule
from infranoise.models.band import Band
from infranoise.models.errors import DesignError
from infranoise.models.experiment import Experiment
from infranoise.models.ledger import reading
from infranoise.models.ledger.attempts import owed, place
from infranoise.models.ledger.enrol import enrol
from infranoise.models.ledger.ingest import Ending, ingest
from infranoise.models.ledger.keys import trial_keys
from infranoise.models.ledger.store import open_store
from infranoise.models.message import AttemptRecord
from infranoise.models.task import Task
from infranoise.scheduler.plan import plan

RULES = {
    "decided": StopRule(),
    "margin=1.5": StopRule(margin=0.015),
}


@pytest.mark.parametrize("text", RULES)
def test_a_rule_is_written_as_it_is_meant(text: str) -> None:
    assert stop_rule(text, None) == RULES[text]
    assert stop_rule(text, 4) == StopRule(RULES[text].margin, looks=4)


@pytest.mark.parametrize(
    ("until", "looks", "words"),
    [
        ("soon", None, "write decided, or margin=POINTS"),
        ("margin=wide", None, "'wide' is no number of points"),
        (None, 4, "say at what with --until"),
    ],
)
def test_another_text_is_refused(until: str | None, looks: int | None, words: str) -> None:
    with pytest.raises(DesignError, match=words):
        stop_rule(until, looks)


@pytest.fixture
def experiment(make_experiment: Callable[..., Experiment]) -> Experiment:
    bands = [Band.shorthand("1x"), Band.shorthand("3x")]
    return make_experiment(samples=10, bands=bands, entries=[{"agent": "oracle"}])


@pytest.fixture
def engine(tmp_path: Path, experiment: Experiment, make_task: Callable[..., Task]) -> Engine:
    tasks = [make_task(f"suite/{k}") for k in range(20)]
    engine = open_store(tmp_path / "ledger.sqlite")
    enrol(engine, experiment, tasks, plan(experiment, tasks).waves)
    return engine


@pytest.fixture
def run(engine: Engine, make_record: Callable[..., AttemptRecord]) -> Callable[[int], None]:
    """Run so many rounds: at 3x all pass, at 1x every other sample."""

    def through(rounds: int) -> None:
        going = owed(engine, "small", last_wave=rounds - 1)
        place(engine, "small", "local", going)
        keys = trial_keys(engine, "small", [one.id for one in going])
        records = [
            make_record(one.id, reward=float(key.cell.band == "3x" or key.sample % 2))
            for one in going
            for key in [keys[one.id]]
        ]
        ingest(engine, [Ending.of(record) for record in records], 1)

    return through


def test_the_monitor_reads_each_round_once_and_stops_with_its_numbers(
    engine: Engine, experiment: Experiment, run: Callable[[int], None]
) -> None:
    monitor = Monitor.declared(engine, experiment, StopRule())
    run(2)
    assert monitor(2) is None, "four rounds at least"
    run(6)
    stop = monitor(6)
    assert stop is not None
    assert stop.sentence.startswith("After 6 of 10 rounds: 3x over 1x +50.0 points")
    document = json.loads(stop.document)
    assert document["contrasts"][0]["decision"] == "difference"
    assert document["stop"] is True


def test_looks_are_declared_once_and_stand(
    engine: Engine, experiment: Experiment, run: Callable[[int], None]
) -> None:
    Monitor.declared(engine, experiment, StopRule(looks=5))
    run(2)
    Monitor.declared(engine, experiment, StopRule(looks=5))
    assert [event.kind for event in reading.events(engine, "small")] == ["looks declared"]
    with pytest.raises(DesignError, match="changed on the way prove nothing"):
        Monitor.declared(engine, experiment, StopRule(looks=2))


def test_looks_come_before_the_first_outcome(
    engine: Engine, experiment: Experiment, run: Callable[[int], None]
) -> None:
    run(1)
    with pytest.raises(DesignError, match="declared before the first"):
        Monitor.declared(engine, experiment, StopRule(looks=5))


def test_one_band_has_nothing_to_watch(engine: Engine, experiment: Experiment) -> None:
    lone = experiment.model_copy(update={"bands": experiment.bands[:1]})
    with pytest.raises(DesignError, match="has one band"):
        Monitor.declared(engine, lone, StopRule())
