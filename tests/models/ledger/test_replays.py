"""Kill replays: linked attempts that never change what their trial's outcome is."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Engine

from infranoise.models.band import Band
from infranoise.models.errors import DesignError
from infranoise.models.evidence import Evidence, Fault, Phase
from infranoise.models.experiment import Experiment
from infranoise.models.ledger import reading
from infranoise.models.ledger.attempts import Owed, Replay, abandon, owed, place, under_way
from infranoise.models.ledger.enrol import enrol
from infranoise.models.ledger.events import last_document, note
from infranoise.models.ledger.ingest import Ending, ingest
from infranoise.models.ledger.open_work import open_work
from infranoise.models.ledger.replays import ask_replay, owed_replays, replays_done, replays_open
from infranoise.models.ledger.rounds import last_wave_begun, open_by_round, round_counts
from infranoise.models.message import AttemptRecord
from infranoise.models.task import Task
from infranoise.models.trial import CellKey, TrialKey
from infranoise.models.waves import PlannedTrial, Wave

MakeRecord = Callable[..., AttemptRecord]
KILLED = Evidence(phases=(Phase(name="agent", exit_code=137, oom_kills=1),))
LOST = Evidence(node_seen="no", fault=Fault(cause="evicted", message="gone"))
NODE = "local"
BANDS = ("1x", "3x", "uncapped")


def wave(number: int) -> Wave:
    """One sample of one task in every band; trials are named after band and sample."""
    return Wave(
        number,
        (),
        tuple(
            PlannedTrial(
                id=f"{band}#{number}",
                key=TrialKey(
                    cell=CellKey(task="suite/one", entry="lean", band=band), sample=number
                ),
                wave=number,
                position=number * len(BANDS) + place,
            )
            for place, band in enumerate(BANDS)
        ),
    )


@pytest.fixture
def small(
    store: Engine, make_experiment: Callable[..., Experiment], make_task: Callable[..., Task]
) -> Experiment:
    """Two samples; what ran at 1x and 3x was killed, uncapped all passed."""
    experiment = make_experiment(name="small", samples=2, bands=[Band.shorthand(b) for b in BANDS])
    enrol(store, experiment, [make_task()], [wave(0), wave(1)])
    return experiment


@pytest.fixture
def ran(store: Engine, small: Experiment, make_record: MakeRecord) -> Experiment:
    send(store, owed(store, "small"))
    records = [
        make_record(f"{band}#{sample}", evidence=None if band == "uncapped" else KILLED)
        for band in BANDS
        for sample in (0, 1)
    ]
    take_in(store, *records)
    return small


def send(store: Engine, trials: tuple[Owed, ...]) -> None:
    place(store, "small", NODE, trials)


def take_in(store: Engine, *records: AttemptRecord, max_attempts: int = 1) -> None:
    ingest(store, [Ending.of(record) for record in records], max_attempts)


def waiting(store: Engine, experiment: Experiment) -> list[tuple[str, str]]:
    found = owed_replays(store, experiment)
    return [(one.replay.of, one.replay.ceiling) for one in found if one.replay]


def test_every_kill_below_the_ceiling_waits_and_no_other_trial(
    store: Engine, ran: Experiment
) -> None:
    assert waiting(store, ran) == []
    ask_replay(store, ran, "3x")
    assert waiting(store, ran) == [("1x#0.1", "3x"), ("1x#1.1", "3x")]


def test_one_ceiling_is_replayed_after_the_other(
    store: Engine, ran: Experiment, make_record: MakeRecord
) -> None:
    ask_replay(store, ran, "3x")
    ask_replay(store, ran, "uncapped")
    first = owed_replays(store, ran)
    send(store, first)
    take_in(store, *(make_record(one.id, one.next_number) for one in first))
    assert waiting(store, ran) == [
        (kill, "uncapped") for kill in ("1x#0.1", "3x#0.1", "1x#1.1", "3x#1.1")
    ]
    assert [one.next_number for one in owed_replays(store, ran)] == [3, 2, 3, 2]


def test_a_replay_changes_no_outcome_and_no_count(
    store: Engine, ran: Experiment, make_record: MakeRecord
) -> None:
    counts, progress = reading.cell_counts(store, "small"), reading.progress(store, "small")
    accepted = [a.id for a in reading.attempts(store, "small") if a.accepted]
    ask_replay(store, ran, "3x")
    again = owed_replays(store, ran)
    send(store, again)
    take_in(store, *(make_record(one.id, one.next_number) for one in again))
    assert reading.cell_counts(store, "small") == counts
    assert reading.progress(store, "small") == progress
    lines = list(reading.attempts(store, "small"))
    assert [line.id for line in lines if line.accepted] == accepted
    assert {(x.id, x.replay_of, x.replay_in) for x in lines if x.replay_of} == {
        ("1x#0.2", "1x#0.1", "3x"),
        ("1x#1.2", "1x#1.1", "3x"),
    }


def test_what_is_under_way_or_has_a_verdict_does_not_wait_and_what_was_given_up_does(
    store: Engine, ran: Experiment, make_record: MakeRecord
) -> None:
    ask_replay(store, ran, "3x")
    first, second = owed_replays(store, ran)
    send(store, (first, second))
    assert waiting(store, ran) == []
    assert under_way(store, "small")["1x#0.2"].owed == first
    take_in(store, make_record(first.id, first.next_number, reward=0.0))
    abandon(store, "small", "cut off")
    assert owed_replays(store, ran) == (replace(second, next_number=3),)


@pytest.mark.parametrize(("attempts", "left"), [(1, 0), (2, 1)])
def test_a_replay_lost_to_infrastructure_is_tried_as_often_as_a_trial(
    store: Engine, ran: Experiment, make_record: MakeRecord, attempts: int, left: int
) -> None:
    run = ran.run.model_copy(update={"max_attempts": attempts})
    patient = ran.model_copy(update={"run": run})
    ask_replay(store, ran, "2x")
    one, other = owed_replays(store, patient)
    send(store, (one, other))
    take_in(store, make_record(one.id, one.next_number, evidence=LOST), max_attempts=attempts)
    take_in(store, make_record(other.id, other.next_number))
    assert len(owed_replays(store, patient)) == left


def test_replays_are_open_work_until_none_waits(store: Engine, ran: Experiment) -> None:
    assert "small" not in open_work(store)
    ask_replay(store, ran, "3x")
    assert replays_open(store, "small")
    assert open_work(store)["small"].state == "active"
    replays_done(store, "small")
    assert not replays_open(store, "small")
    assert "small" not in open_work(store)
    ask_replay(store, ran, "3x")
    assert replays_open(store, "small"), "asked again, it is looked at again"


def test_a_ceiling_that_is_not_higher_is_refused_and_not_noted(
    store: Engine, ran: Experiment
) -> None:
    with pytest.raises(DesignError, match="no band has a lower memory ceiling"):
        ask_replay(store, ran, "1x")
    assert not replays_open(store, "small")


def test_rounds_are_counted_as_they_fill(
    store: Engine, small: Experiment, make_record: MakeRecord
) -> None:
    assert open_by_round(store, "small") == {0: 3, 1: 3}
    assert last_wave_begun(store, "small") == -1
    send(store, owed(store, "small", limit=4))
    assert last_wave_begun(store, "small") == 1
    take_in(store, make_record("1x#0", evidence=KILLED), make_record("3x#0", reward=0.5))
    assert open_by_round(store, "small") == {0: 1, 1: 3}
    rows = {row.band: row for row in round_counts(store, "small", 2)}
    assert (rows["1x"].infra_errors, rows["1x"].reward_sum) == (1, 0.0)
    assert (rows["3x"].n, rows["3x"].passed, rows["3x"].reward_sumsq) == (1, 0, 0.25)
    assert round_counts(store, "small", 2, after=0) == ()


def test_trials_of_later_waves_can_be_left_out(store: Engine, small: Experiment) -> None:
    assert {one.wave for one in owed(store, "small", last_wave=0)} == {0}


def test_the_last_document_of_a_kind_is_found(store: Engine, small: Experiment) -> None:
    assert last_document(store, "small", "looked") is None
    for number in (1, 2):
        note(store, "small", "looked", "again", f'{{"look": {number}}}')
    assert last_document(store, "small", "looked") == '{"look": 2}'


def test_a_replay_says_what_it_replays(store: Engine, ran: Experiment) -> None:
    ask_replay(store, ran, "3x")
    assert owed_replays(store, ran)[0].replay == Replay("1x#0.1", "3x")
