"""What a fleet is at, as the ledger tells it: standings, open work, and finding a trial."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Engine

from infranoise.models.evidence import Evidence
from infranoise.models.experiment import Experiment
from infranoise.models.ledger import live
from infranoise.models.ledger.attempts import owed, place
from infranoise.models.ledger.enrol import enrol
from infranoise.models.ledger.finding import find_trials
from infranoise.models.ledger.ingest import Ending, ingest
from infranoise.models.ledger.open_work import OpenWork, blobs_of, open_work
from infranoise.models.ledger.states import set_state
from infranoise.models.message import AttemptRecord
from infranoise.models.task import Task
from infranoise.models.trial import CellKey, TrialKey
from infranoise.models.waves import PlannedTrial, Wave

LOST = Evidence(node_seen="no")
KEYS = {
    f"{sample}{letter}{'0' * 14}": TrialKey(
        cell=CellKey(task="suite/one", entry="lean", band=band), sample=sample
    )
    for sample in range(2)
    for letter, band in (("a", "1x"), ("b", "3x"))
}
A0, B0, A1, B1 = KEYS


@pytest.fixture
def small(
    store: Engine, make_experiment: Callable[..., Experiment], make_task: Callable[..., Task]
) -> Engine:
    """Two samples in two bands: all owed."""
    trials = tuple(
        PlannedTrial(id=id_, key=key, wave=0, position=position)
        for position, (id_, key) in enumerate(KEYS.items())
    )
    experiment = make_experiment(name="small")
    enrol(store, experiment, [make_task()], [Wave(0, (), trials)], blobs="s3://runs/blobs")
    return store


def ended(store: Engine, node: str, records: list[AttemptRecord]) -> None:
    endings = [replace(Ending.of(record), node=node) for record in records]
    ingest(store, endings, max_attempts=1)


@pytest.fixture
def at_work(small: Engine, make_record: Callable[..., AttemptRecord]) -> Engine:
    """Three under way; then one passed on n1, one was lost on n2."""
    trials = {trial.id: trial for trial in owed(small, "small")}
    place(small, "small", "n1", [trials[A0], trials[B0]])
    place(small, "small", "n2", [trials[A1]])
    ended(small, "n1", [make_record(A0)])
    ended(small, "n2", [make_record(A1, evidence=LOST)])
    return small


def test_an_experiment_stands_where_its_cells_and_attempts_do(at_work: Engine) -> None:
    (one,) = live.standings(at_work)
    assert (one.planned, one.n, one.passed, one.infra_errors, one.under_way) == (4, 2, 1, 1, 1)
    assert one.word == "active"
    assert live.standings(at_work, "other") == ()


def test_bands_nodes_and_causes_are_told_apart(at_work: Engine) -> None:
    bands = live.band_standings(at_work, "small")
    assert (bands["1x"].n, bands["1x"].infra_errors, bands["3x"].n) == (2, 1, 0)
    nodes = live.node_standings(at_work, "small")
    assert [(s.node, s.band, s.ended, s.infra_errors) for s in nodes] == [
        ("n1", "1x", 1, 0),
        ("n2", "1x", 1, 1),
    ]
    assert live.infra_causes(at_work, "small") == {"node_lost": 1}


def test_outcomes_are_counted_from_a_moment_on(at_work: Engine) -> None:
    assert live.ended_since(at_work, "small", 0.0) == 2  # the records' own clocks: 2.0
    assert live.ended_since(at_work, "small", 2.5) == 0


def test_a_cancelled_attempt_is_no_attempt_of_a_node(
    small: Engine, make_record: Callable[..., AttemptRecord]
) -> None:
    place(small, "small", "n1", owed(small, "small", limit=1))
    ended(small, "n1", [make_record(A0, evidence=Evidence(cancelled="by hand"))])
    assert live.node_standings(small, "small") == ()


def test_open_work_is_what_is_owed_or_under_way(
    at_work: Engine, make_record: Callable[..., AttemptRecord]
) -> None:
    assert open_work(at_work) == {"small": OpenWork("active", under_way=True)}
    set_state(at_work, "small", "paused")
    ended(at_work, "n1", [make_record(B0)])
    assert open_work(at_work) == {"small": OpenWork("paused", under_way=False)}
    place(at_work, "small", "n1", owed(at_work, "small"))
    ended(at_work, "n1", [make_record(B1)])
    assert open_work(at_work) == {}
    assert live.standings(at_work)[0].word == "done"


def test_an_experiment_knows_where_its_tasks_lie(small: Engine) -> None:
    assert blobs_of(small, "small") == "s3://runs/blobs"
    assert blobs_of(small, "other") == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (A0, [A0]),
        (f"{A0}.3", [A0]),
        ("1b", [B1]),
        ("suite/one|lean|3x|#1", [B1]),
        ("suite/one|lean|3x", [B0, B1]),
        ("suite/", [A0, B0, A1, B1]),
        ("suite/one|lean|3x|#7", []),
        ("%", []),
        ("", [A0, B0, A1, B1]),
    ],
)
def test_a_trial_is_found_by_what_people_have_in_hand(
    small: Engine, text: str, found: list[str]
) -> None:
    assert [trial.id for trial in find_trials(small, text)] == found
    assert find_trials(small, text, experiment="other") == ()


def test_what_is_found_bears_its_key(small: Engine) -> None:
    assert find_trials(small, B1)[0].key == KEYS[B1]
