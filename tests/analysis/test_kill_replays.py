"""Kill replays out of a ledger: what they count, and the split that they give."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from infranoise.analysis.findings import findings
from infranoise.analysis.findings_json import to_json
from infranoise.analysis.kill_replays import KillReplays, kill_replays, replay_sentences
from infranoise.analysis.read_ledger import read_study
from infranoise.analysis.render.chapters import chapters
from infranoise.analysis.run_facts import known, run_facts
from infranoise.analysis.study_cells import study_cells
from infranoise.models.evidence import Evidence, Phase
from infranoise.models.ledger import reading
from infranoise.models.ledger.ingest import Ending, ingest
from infranoise.models.ledger.replays import ask_replay, owed_replays
from infranoise.models.message import AttemptRecord

type MakeLedger = Callable[..., Engine]
KILLED = Evidence(phases=(Phase(name="agent", exit_code=137, oom_kills=1),))


@pytest.fixture
def replayed(
    make_ledger: MakeLedger,
    make_record: Callable[..., AttemptRecord],
    send: Callable[..., None],
) -> Callable[..., Engine]:
    """Heavy was killed twice on suite/b and suite/c at 1x; of the replays `passes` pass."""

    def make(*passes: bool) -> Engine:
        engine = make_ledger()
        experiment = reading.experiment(engine, "small")
        ask_replay(engine, experiment, "uncapped")
        going = [one for one in owed_replays(engine, experiment) if _at(engine, one.id) == "1x"]
        going = going[: len(passes)]
        send(engine, "small", going)
        records = [
            make_record(one.id, one.next_number, evidence=None if passed else KILLED)
            for one, passed in zip(going, passes)
        ]
        ingest(engine, [Ending.of(record) for record in records], 1)
        return engine

    return make


def _at(engine: Engine, trial: str) -> str:
    return next(line.band for line in reading.attempts(engine, "small", trial=trial))


def counts(engine: Engine) -> tuple[KillReplays, ...]:
    return kill_replays(read_study(engine).attempts)


def test_a_run_without_replays_counts_none(make_ledger: MakeLedger) -> None:
    assert counts(make_ledger()) == ()


def test_every_kill_of_the_band_is_counted_and_every_replay(replayed: MakeLedger) -> None:
    rows = counts(replayed(True, True, False))
    assert {(row.killed_in, row.ceiling, row.entry) for row in rows} == {
        ("1x", "uncapped", "heavy")
    }
    assert sum(row.killed for row in rows) == 4
    assert sum(row.replayed for row in rows) == 3
    assert (sum(row.passed for row in rows), sum(row.killed_again for row in rows)) == (2, 1)
    (sentence,) = replay_sentences(rows)
    assert sentence == (
        "Of 4 trials killed in 1x, 3 ran again at uncapped (1 still wait): 2 passed, 1 was killed "
        "again."
    )


def test_the_split_is_by_replay_once_every_task_and_entry_has_some(replayed: MakeLedger) -> None:
    study = read_study(replayed(True, True, False, True))
    run = run_facts(study)
    found = findings(*study_cells(study), known(run))
    parts = found.splits["uncapped"].replayed
    assert parts is not None
    assert (parts.killed, parts.replays, parts.passed) == (4, 4, 3)
    # 3 tasks x 2 entries x 2 samples: three rescued of twelve trials
    assert parts.rescue == pytest.approx(3 / 12)
    assert parts.rescue + parts.strategy == pytest.approx(found.splits["uncapped"].lift)
    document = to_json(found, run)
    assert document["bands"][2]["split"]["replayed"]["rescue"] == parts.rescue  # type: ignore[call-overload,index]
    told = {chapter.anchor: chapter for chapter in chapters(found, run)}
    assert told["replays"].lead.startswith("Of 4 trials killed in 1x, 4 ran again at uncapped")


def test_before_that_the_bounds_stand_and_it_is_said_why(replayed: MakeLedger) -> None:
    study = read_study(replayed(True))
    found = findings(*study_cells(study), known(run_facts(study)))
    assert found.splits["uncapped"].replayed is None
    assert "killed trials without a replay" in found.refused["kill replay at uncapped"]
