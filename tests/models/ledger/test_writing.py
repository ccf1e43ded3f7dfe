"""Who may write: one at a time where it matters, and never one that was deposed."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from own_postgres import OwnPostgres
from sqlalchemy import Engine, make_url

from infranoise.models.errors import Deposed, LedgerError, StoreAway
from infranoise.models.evidence import Evidence, Fault, Phase
from infranoise.models.experiment import Experiment
from infranoise.models.ledger import reading
from infranoise.models.ledger.attempts import abandon, owed, place, under_way
from infranoise.models.ledger.enrol import enrol
from infranoise.models.ledger.events import note, write_event
from infranoise.models.ledger.ingest import Ending, ingest
from infranoise.models.ledger.nodes import probes, write_node, write_probe
from infranoise.models.ledger.store import open_store
from infranoise.models.ledger.writing import next_fence_at_least, take_lead, writing
from infranoise.models.node import NodeProfile
from infranoise.models.probe import Probe, Spread
from infranoise.models.task import Task
from infranoise.models.trial import CellKey, TrialKey
from infranoise.models.waves import PlannedTrial, Wave

BANDS = ("1x", "1.5x", "2x", "3x", "5x")
PASSED = Evidence(phases=(Phase(name="verifier", exit_code=0),), reward=1.0)
NODE = NodeProfile(architecture="x86_64", kernel="6.1")
SPEED = Spread(low=1.0, median=2.0, high=3.0)
PROBE = Probe(at=5.0, took_s=0.5, cpu_ops_s=SPEED, memory_mb_s=SPEED)
TRIALS = 40
TOGETHER = 4


@pytest.fixture
def small(
    store: Engine,
    make_experiment: Callable[..., Experiment],
    make_task: Callable[..., Task],
) -> Wave:
    """An experiment of forty trials, none of them placed."""
    trials = tuple(
        PlannedTrial(f"t{n:02}", TrialKey(cell=_cell(BANDS[n % 5]), sample=n // 5), 0, n)
        for n in range(TRIALS)
    )
    wave = Wave(0, (), trials)
    enrol(store, make_experiment(name="small"), [make_task()], [wave])
    return wave


def _cell(band: str) -> CellKey:
    return CellKey(task="suite/one", entry="lean", band=band)


def send_all(store: Engine) -> list[Ending]:
    """Place everything that is owed; how each ends."""
    going = owed(store, "small")
    place(store, "small", "local", going)
    return [
        Ending(f"{one.id}.{one.next_number}", one.id, "small", "local", 1.0, PASSED)
        for one in going
    ]


def at_once[Result](*calls: Callable[[], Result]) -> list[Result]:
    """Results of calls that all begin at one moment, each in a thread of its own."""
    gate = threading.Barrier(len(calls))

    def call(one: Callable[[], Result]) -> Result:
        gate.wait()
        return one()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(call, calls))


WRITES: dict[str, Callable[[Engine, int], object]] = {
    "placing": lambda store, fence: place(
        store, "small", "local", owed(store, "small")[:1], fence=fence
    ),
    "taking in": lambda store, fence: ingest(
        store, [Ending("t00.1", "t00", "small", "local", 1.0, PASSED)], 1, fence=fence
    ),
    "noting": lambda store, fence: note(store, "small", "something", fence=fence),
    "knowing a node": lambda store, fence: write_node(store, "n", NODE, fence=fence),
    "knowing its speed": lambda store, fence: write_probe(store, "known", PROBE, fence=fence),
    "giving up": lambda store, fence: abandon(store, "small", "stopped", fence=fence),
}


class TestFences:
    @pytest.mark.parametrize("write", WRITES)
    def test_a_deposed_scheduler_changes_nothing(
        self, store: Engine, small: Wave, write: str
    ) -> None:
        place(store, "small", "local", owed(store, "small")[:1])
        write_node(store, "known", NODE)
        take_lead(store, 7)
        before = owed(store, "small"), under_way(store, "small"), reading.events(store, "small")
        with pytest.raises(Deposed) as told:
            WRITES[write](store, 6)
        assert (told.value.fence, told.value.seen) == (6, 7)
        after = owed(store, "small"), under_way(store, "small"), reading.events(store, "small")
        assert after == before
        assert reading.progress(store, "small")[0] == 0

    @pytest.mark.parametrize("write", WRITES)
    def test_the_one_who_leads_may_write(self, store: Engine, small: Wave, write: str) -> None:
        place(store, "small", "local", owed(store, "small")[:1])
        write_node(store, "known", NODE)
        take_lead(store, 7)
        WRITES[write](store, 7)
        left = {"placing": 2, "taking in": 0, "giving up": 0}
        assert len(under_way(store, "small")) == left.get(write, 1)

    @pytest.mark.parametrize("write", WRITES)
    def test_a_lead_that_never_began_here_writes_nothing(
        self, store: Engine, small: Wave, write: str
    ) -> None:
        place(store, "small", "local", owed(store, "small")[:1])
        take_lead(store, 7)
        with pytest.raises(Deposed):
            WRITES[write](store, 9)
        assert len(under_way(store, "small")) == 1

    @pytest.mark.parametrize("fence", [6, 7])
    def test_a_lead_begins_once_and_under_a_fence_that_nobody_had(
        self, store: Engine, fence: int
    ) -> None:
        take_lead(store, 7)
        with pytest.raises(Deposed):
            take_lead(store, fence)

    def test_fences_go_on_where_they_stopped_although_the_queue_server_forgot(
        self, store: Engine
    ) -> None:
        assert next_fence_at_least(store) == 1
        take_lead(store, 2**40)
        assert next_fence_at_least(store) == 2**40 + 1

    def test_of_many_who_take_one_fence_one_leads(self, store: Engine) -> None:
        def lead() -> bool:
            try:
                take_lead(store, 3)
            except Deposed:
                return False
            return True

        assert sorted(at_once(*[lead] * TOGETHER)) == [False] * (TOGETHER - 1) + [True]

    def test_a_new_lead_waits_for_what_the_old_one_has_begun(
        self, store: Engine, small: Wave
    ) -> None:
        take_lead(store, 1)
        with ThreadPoolExecutor(1) as pool:
            with writing(store, fence=1) as connection:
                taken = pool.submit(take_lead, store, 2)
                with pytest.raises(TimeoutError):
                    taken.result(timeout=0.3)
                write_event(connection, "small", "written under the old lead")
            taken.result()
        with pytest.raises(Deposed):
            abandon(store, "small", "stopped", fence=1)
        assert [e.kind for e in reading.events(store, "small")] == ["written under the old lead"]


class TestManyAtOnce:
    def test_what_many_take_in_is_counted_once(self, store: Engine, small: Wave) -> None:
        endings = send_all(store)
        orders = [endings[n:] + endings[:n] for n in range(0, TRIALS, TRIALS // TOGETHER)]
        took = at_once(*[lambda one=one: ingest(store, one, 1) for one in orders])
        assert sum(map(len, took)) == TRIALS
        assert sum(cell.n for cell in reading.cell_counts(store, "small")) == TRIALS
        assert reading.progress(store, "small") == (TRIALS, TRIALS)

    def test_halves_that_share_their_cells_do_not_wait_for_each_other_for_ever(
        self, store: Engine, small: Wave
    ) -> None:
        endings = send_all(store)
        halves = [endings[:20], endings[20:][::-1]]
        at_once(*[lambda one=one: ingest(store, one, 1) for one in halves])
        assert {cell.n for cell in reading.cell_counts(store, "small")} == {TRIALS // 5}

    def test_an_attempt_is_taken_in_or_given_up_never_both(
        self, store: Engine, small: Wave
    ) -> None:
        endings = send_all(store)
        took, gave_up = at_once(
            lambda: len(ingest(store, endings, 1)), lambda: abandon(store, "small", "stopped")
        )
        assert took + gave_up == TRIALS
        assert reading.progress(store, "small") == (took, TRIALS)
        assert sum(cell.n for cell in reading.cell_counts(store, "small")) == took

    def test_one_plan_enrolled_by_many_is_written_once(
        self,
        store: Engine,
        make_experiment: Callable[..., Experiment],
        make_task: Callable[..., Task],
    ) -> None:
        experiment, task = make_experiment(name="once"), make_task()
        trial = PlannedTrial("t", TrialKey(cell=_cell("1x"), sample=0), 0, 0)

        def write() -> bool:
            return enrol(store, experiment, [task], [Wave(0, (), (trial,))])

        assert sorted(at_once(*[write] * TOGETHER)) == [False] * (TOGETHER - 1) + [True]
        assert reading.progress(store, "once") == (0, 1)


def test_a_block_that_fails_leaves_nothing_behind(store: Engine) -> None:
    def write() -> None:
        with writing(store) as connection:
            write_event(connection, "small", "never")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert reading.events(store, "small") == ()


def test_texts_with_a_nul_are_taken(store: Engine, small: Wave) -> None:
    (first, *_) = send_all(store)
    broken = Evidence(fault=Fault(cause="start_failed", message="exec: \0 is no name"))
    ingest(store, [Ending(first.attempt, first.trial, "small", "local", 1.0, broken)], 1)
    note(store, "small", "unreadable record", "at byte \0")
    (line,) = [x for x in reading.attempts(store, "small") if x.verdict]
    assert line.cause == "start_failed"
    assert reading.events(store, "small")[0].subject == "at byte \N{REPLACEMENT CHARACTER}"


def test_what_the_database_refuses_is_told_as_ours(store: Engine, small: Wave) -> None:
    going = owed(store, "small")[:1]
    place(store, "small", "local", going)
    with pytest.raises(LedgerError, match=r"(?i)unique|duplicate"):
        place(store, "small", "local", going)
    assert len(under_way(store, "small")) == 1


class TestAServerThatGoesAway:
    @pytest.fixture
    def away(self, postgres: OwnPostgres) -> Engine:
        """A store whose server was there a moment ago."""
        url = make_url(postgres.address)
        return open_store(url.render_as_string(hide_password=False))

    def test_is_told_as_away_and_found_again_when_it_is_back(
        self, postgres: OwnPostgres, away: Engine
    ) -> None:
        try:
            note(away, "small", "before")
            postgres.stop("immediate")
            try:
                with pytest.raises(StoreAway):
                    note(away, "small", "meanwhile")
            finally:
                postgres.start()
            note(away, "small", "after")
            assert [e.kind for e in reading.events(away, "small")] == ["before", "after"]
        finally:
            away.dispose()

    def test_during_a_transaction_leaves_nothing_of_it(
        self, postgres: OwnPostgres, away: Engine
    ) -> None:
        def cut() -> None:
            with writing(away) as connection:
                write_event(connection, "cut", "half")
                postgres.stop("immediate")
                postgres.start()
                write_event(connection, "cut", "other half")

        try:
            with pytest.raises(StoreAway):
                cut()
            assert reading.events(away, "cut") == ()
        finally:
            away.dispose()


def test_a_probe_is_kept_once_however_often_it_is_told_and_the_oldest_comes_first(
    store: Engine,
) -> None:
    write_node(store, "n", NODE)
    later = PROBE.model_copy(update={"at": 9.0})
    for probe in (later, PROBE, PROBE, later):
        write_probe(store, "n", probe)
    assert probes(store, "n") == (PROBE, later)
    assert probes(store, "another") == ()
