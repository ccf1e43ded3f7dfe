"""The ledger: enrol once, owe what has no outcome, take each ending in once."""

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, update

from infranoise.models.errors import LedgerError
from infranoise.models.evidence import Evidence, Phase
from infranoise.models.experiment import Experiment
from infranoise.models.ledger import reading
from infranoise.models.ledger.attempts import Owed, abandon, owed, place
from infranoise.models.ledger.enrol import enrol
from infranoise.models.ledger.ingest import Ending, Ingested, ingest
from infranoise.models.ledger.tables import EXPERIMENT
from infranoise.models.message import AttemptRecord
from infranoise.models.node import ClusterNode, NodeProfile
from infranoise.models.task import Task
from infranoise.models.trial import CellKey, TrialKey
from infranoise.models.waves import PlannedTrial, Wave

MakeRecord = Callable[..., AttemptRecord]
KILLED = Evidence(phases=(Phase(name="agent", exit_code=137, oom_kills=1),))
NODE = "local"


def wave(*names: str) -> Wave:
    trials = tuple(
        PlannedTrial(
            id=name,
            key=TrialKey(cell=CellKey(task="suite/one", entry="lean", band=band), sample=0),
            wave=0,
            position=position,
        )
        for position, (name, band) in enumerate(zip(names, ("1x", "2x", "3x", "5x")))
    )
    return Wave(0, (), trials)


@pytest.fixture
def small(
    store: Engine,
    make_experiment: Callable[..., Experiment],
    make_task: Callable[..., Task],
) -> Experiment:
    experiment = make_experiment(name="small", samples=1)
    enrol(store, experiment, [make_task()], [wave("a", "b")])
    return experiment


def send(store: Engine) -> tuple[Owed, ...]:
    """Place everything that is owed."""
    trials = owed(store, "small")
    place(store, "small", NODE, trials)
    return trials


def take_in(store: Engine, *records: AttemptRecord, max_attempts: int = 1) -> tuple[Ingested, ...]:
    return ingest(store, [Ending.of(record) for record in records], max_attempts)


def counts(store: Engine, band: str) -> tuple[int, int, int]:
    cell = next(cell for cell in reading.cell_counts(store, "small") if cell.band == band)
    return cell.n, cell.passed, cell.infra_errors


class TestEnrolment:
    def test_what_was_enrolled_reads_back(self, store: Engine, small: Experiment) -> None:
        assert reading.experiment(store, "small") == small
        assert reading.tasks(store, "small")[0].name == "suite/one"
        assert reading.bands(store, "small") == small.bands
        assert reading.progress(store, "small") == (0, 2)

    def test_the_same_plan_again_changes_nothing(
        self, store: Engine, small: Experiment, make_task: Callable[..., Task]
    ) -> None:
        assert enrol(store, small, [make_task()], [wave("a", "b")]) is False
        assert reading.progress(store, "small") == (0, 2)

    @pytest.mark.parametrize(
        ("change", "words"),
        [({"seed": 1}, "differs in seed"), ({"samples": 9}, "differs in samples")],
    )
    def test_another_meaning_under_the_same_name_is_refused(
        self,
        store: Engine,
        small: Experiment,
        make_task: Callable[..., Task],
        change: dict[str, int],
        words: str,
    ) -> None:
        with pytest.raises(LedgerError, match=words):
            enrol(store, small.model_copy(update=change), [make_task()], [wave("a", "b")])

    def test_a_plan_of_a_release_that_knew_fewer_settings_goes_on(
        self, store: Engine, small: Experiment, make_task: Callable[..., Task]
    ) -> None:
        older = json.loads(small.model_dump_json())
        del older["factors"]
        changed = update(EXPERIMENT).values(document=json.dumps(older), fingerprint="of then")
        with store.begin() as connection:
            connection.execute(changed)
        assert enrol(store, small, [make_task()], [wave("a", "b")]) is False
        with pytest.raises(LedgerError, match="differs in seed;"):
            enrol(store, small.model_copy(update={"seed": 1}), [make_task()], [wave("a", "b")])

    def test_a_task_whose_contents_changed_is_refused(
        self, store: Engine, small: Experiment, make_task: Callable[..., Task]
    ) -> None:
        with pytest.raises(LedgerError, match="the contents of its tasks"):
            enrol(store, small, [make_task(content_hash="other")], [wave("a", "b")])

    def test_an_unknown_experiment_is_named_with_those_there_are(
        self, store: Engine, small: Experiment
    ) -> None:
        with pytest.raises(LedgerError, match=r"no experiment 'big' .* it holds: small"):
            reading.experiment(store, "big")


class TestWhatIsOwed:
    def test_a_fresh_plan_is_owed_in_order(self, store: Engine, small: Experiment) -> None:
        assert [(t.id, t.next_number) for t in owed(store, "small")] == [("a", 1), ("b", 1)]

    def test_what_is_under_way_is_not_owed(self, store: Engine, small: Experiment) -> None:
        send(store)
        assert owed(store, "small") == ()

    def test_what_was_given_up_is_owed_again_under_a_new_number(
        self, store: Engine, small: Experiment
    ) -> None:
        send(store)
        assert abandon(store, "small", "interrupted") == 2
        assert [(t.id, t.next_number) for t in owed(store, "small")] == [("a", 2), ("b", 2)]

    def test_what_has_an_outcome_is_not_owed(
        self, store: Engine, small: Experiment, make_record: MakeRecord
    ) -> None:
        send(store)
        take_in(store, make_record("a"))
        assert [t.id for t in owed(store, "small")] == []
        assert reading.progress(store, "small") == (1, 2)


class TestIngest:
    def test_an_ending_is_judged_counted_and_kept(
        self, store: Engine, small: Experiment, make_record: MakeRecord
    ) -> None:
        send(store)
        (taken,) = take_in(store, make_record("a", reward=1.0))
        assert taken.accepted
        assert counts(store, "1x") == (1, 1, 0)
        line = next(line for line in reading.attempts(store, "small") if line.trial == "a")
        assert (line.verdict, line.band, line.accepted) == ("passed", "1x", True)
        assert line.record == make_record("a", reward=1.0)

    def test_a_fractional_reward_is_summed(
        self, store: Engine, small: Experiment, make_record: MakeRecord
    ) -> None:
        send(store)
        take_in(store, make_record("a", reward=0.5))
        cell = next(cell for cell in reading.cell_counts(store, "small") if cell.band == "1x")
        assert (cell.passed, cell.reward_sum, cell.reward_sumsq) == (0, 0.5, 0.25)

    def test_an_infra_error_counts_as_reward_zero(
        self, store: Engine, small: Experiment, make_record: MakeRecord
    ) -> None:
        send(store)
        take_in(store, make_record("a", evidence=KILLED.model_copy(update={"reward": 1.0})))
        cell = next(cell for cell in reading.cell_counts(store, "small") if cell.band == "1x")
        assert (cell.n, cell.infra_errors, cell.reward_sum) == (1, 1, 0.0)

    def test_a_doubled_record_counts_once(
        self, store: Engine, small: Experiment, make_record: MakeRecord
    ) -> None:
        send(store)
        assert len(take_in(store, make_record("a"), make_record("a"))) == 1
        assert take_in(store, make_record("a")) == ()
        assert counts(store, "1x") == (1, 1, 0)
        kinds = [event.kind for event in reading.events(store, "small")]
        assert kinds == ["late or doubled record"] * 2

    def test_a_record_after_its_attempt_was_given_up_is_noted_and_not_counted(
        self, store: Engine, small: Experiment, make_record: MakeRecord
    ) -> None:
        send(store)
        abandon(store, "small", "interrupted")
        assert take_in(store, make_record("a")) == ()
        assert counts(store, "1x") == (0, 0, 0)

    def test_a_record_of_nobody_is_noted(
        self, store: Engine, small: Experiment, make_record: MakeRecord
    ) -> None:
        assert take_in(store, make_record("stranger")) == ()
        (event,) = reading.events(store, "small")
        assert (event.kind, event.subject) == ("record of an unknown attempt", "stranger.1")

    def test_a_retry_keeps_both_attempts_and_counts_the_last(
        self, store: Engine, small: Experiment, make_record: MakeRecord
    ) -> None:
        send(store)
        (first,) = take_in(store, make_record("a", evidence=KILLED), max_attempts=2)
        assert not first.accepted
        send(store)
        (second,) = take_in(store, make_record("a", 2), max_attempts=2)
        assert second.accepted
        lines = [line for line in reading.attempts(store, "small") if line.trial == "a"]
        assert [(line.verdict, line.accepted) for line in lines] == [
            ("infra_error", False),
            ("passed", True),
        ]
        assert counts(store, "1x") == (1, 1, 0)

    def test_an_infra_error_with_no_attempt_left_is_the_outcome(
        self, store: Engine, small: Experiment, make_record: MakeRecord
    ) -> None:
        for number in (1, 2):
            send(store)
            take_in(store, make_record("a", number, evidence=KILLED), max_attempts=2)
        assert counts(store, "1x") == (1, 0, 1)

    def test_a_cancelled_attempt_uses_up_no_attempt(
        self, store: Engine, small: Experiment, make_record: MakeRecord
    ) -> None:
        send(store)
        abandon(store, "small", "interrupted")
        send(store)
        take_in(store, make_record("a", 2, evidence=KILLED), max_attempts=2)
        assert [t.id for t in owed(store, "small")] == ["a"]


actions = st.lists(
    st.tuples(
        st.sampled_from(["send", "record", "again", "abandon"]),
        st.sampled_from(["a", "b", "c", "d"]),
        st.sampled_from([0.0, 1.0, None]),
    ),
    max_size=25,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=actions, max_attempts=st.integers(1, 3))
def test_whatever_happens_a_trial_is_counted_at_most_once_and_no_attempt_is_lost(
    actions: list[tuple[str, str, float | None]],
    max_attempts: int,
    store: Engine,
    wipe: Callable[[Engine], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    wipe(store)
    folder = tmp_path_factory.getbasetemp()
    task = Task(
        name="suite/one", title="", directory=folder, content_hash="c", environment_hash="e"
    )
    experiment = Experiment(name="small", tasks=("t",))
    enrol(store, experiment, [task], [wave("a", "b", "c", "d")])
    placed: dict[str, int] = {}
    for action, trial, reward in actions:
        if action == "send":
            placed |= {t.id: t.next_number for t in send(store)}
        elif action == "abandon":
            abandon(store, "small", "stopped")
        elif trial in placed:
            evidence = (
                KILLED
                if reward is None
                else Evidence(phases=(Phase(name="verifier", exit_code=0),), reward=reward)
            )
            ending = Ending(
                f"{trial}.{placed[trial]}", trial, "small", NODE, ended_at=1.0, evidence=evidence
            )
            ingest(store, [ending] * (2 if action == "again" else 1), max_attempts)
    cells = reading.cell_counts(store, "small")
    done, _ = reading.progress(store, "small")
    assert all(cell.n <= cell.planned for cell in cells)
    assert sum(cell.n for cell in cells) == done
    lines = list(reading.attempts(store, "small"))
    assert sum(line.accepted for line in lines) == done
    for trial in placed:
        numbers = [line.number for line in lines if line.trial == trial]
        assert numbers == list(range(1, len(numbers) + 1))


def test_what_a_cluster_s_node_told_of_itself_is_kept_once_beside_the_nodes(
    store: Engine, small: Experiment, make_record: MakeRecord
) -> None:
    profile = NodeProfile(architecture="amd64", kernel="6.1", cluster=ClusterNode())
    send(store)
    for trial in ("a", "b"):
        record = make_record(trial)
        around = record.conditions.model_copy(update={"node": "node-1", "worker": NODE})
        take_in(store, record.model_copy(update={"profile": profile, "conditions": around}))
    assert reading.node_profiles(store) == {"node-1": profile}
    for line in reading.attempts(store, "small"):
        assert line.node == "node-1"
        assert line.record is not None
        assert line.record.profile is None  # it lies with the node
