"""Plans: complete, in blocks, the same on every machine for one seed."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.models.errors import DesignError
from infranoise.models.experiment import Experiment
from infranoise.models.spec import Spec
from infranoise.models.task import Task
from infranoise.scheduler.plan import plan

Make = Callable[..., Experiment]
MakeTask = Callable[..., Task]


@pytest.fixture
def tasks(make_task: MakeTask) -> list[Task]:
    return [make_task(f"suite/{name}") for name in ("a", "b", "c")]


def test_every_cell_gets_its_samples(make_experiment: Make, tasks: list[Task]) -> None:
    made = plan(make_experiment(samples=4), tasks)
    per_cell = Counter(trial.key.cell for trial in made.trials)
    assert made.cells == 3 * 2 * 6
    assert set(per_cell.values()) == {4}


def test_a_wave_holds_every_task_entry_and_band_once(
    make_experiment: Make, tasks: list[Task]
) -> None:
    for wave in plan(make_experiment(), tasks).waves:
        cells = [trial.key.cell.text for trial in wave.trials]
        assert len(cells) == len(set(cells)) == 36


def test_all_bands_of_a_block_stand_side_by_side(make_experiment: Make, tasks: list[Task]) -> None:
    trials = plan(make_experiment(), tasks).waves[0].trials
    for start in range(0, len(trials), 6):
        block = {(t.key.cell.task, t.key.cell.entry) for t in trials[start : start + 6]}
        assert len(block) == 1


def test_the_order_of_bands_differs_between_blocks(
    make_experiment: Make, tasks: list[Task]
) -> None:
    trials = plan(make_experiment(), tasks).waves[0].trials
    orders = {
        tuple(t.key.cell.band for t in trials[start : start + 6])
        for start in range(0, len(trials), 6)
    }
    assert len(orders) > 1


def test_one_seed_gives_one_plan_and_another_seed_another(
    make_experiment: Make, tasks: list[Task]
) -> None:
    def order(seed: int) -> list[str]:
        return [trial.id for trial in plan(make_experiment(seed=seed), tasks).trials]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert sorted(order(1)) == sorted(order(2))


def test_the_plan_of_a_seed_is_the_same_on_every_machine(
    make_experiment: Make, tasks: list[Task]
) -> None:
    first = next(iter(plan(make_experiment(seed=7), tasks).trials))
    assert first.key.text == "suite/a|lean|1.5x|#0"


def test_concurrency_is_set_per_wave_and_crossed_with_samples(
    make_experiment: Make, tasks: list[Task]
) -> None:
    made = plan(make_experiment(samples=3, factors={"concurrency": [1, 8]}), tasks)
    assert Counter(wave.concurrency for wave in made.waves) == {1: 3, 8: 3}
    for wave in made.waves:
        levels = {dict(trial.key.cell.levels)["concurrency"] for trial in wave.trials}
        assert levels == {str(wave.concurrency)}


def test_the_time_limit_is_set_per_trial_within_the_block(
    make_experiment: Make, tasks: list[Task]
) -> None:
    made = plan(make_experiment(factors={"time_limit": [1, 2.5]}), tasks)
    levels = {dict(trial.key.cell.levels)["time_limit"] for trial in made.waves[0].trials}
    assert levels == {"1", "2.5"}


def test_a_band_that_cannot_be_made_is_told_for_every_task(
    make_experiment: Make, make_task: MakeTask
) -> None:
    bare = [make_task("suite/x", spec=Spec()), make_task("suite/y", spec=Spec())]
    with pytest.raises(DesignError, match=r"(?s)suite/x: .*suite/y: "):
        plan(make_experiment(), bare)


def test_no_task_is_an_error(make_experiment: Make) -> None:
    with pytest.raises(DesignError, match="no task is left"):
        plan(make_experiment(), [])


@given(samples=st.integers(1, 4), seed=st.integers(0, 2**32), levels=st.sets(st.integers(1, 9)))
def test_positions_count_up_and_ids_are_unique(
    samples: int, seed: int, levels: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    task = Task(
        name="t",
        title="t",
        directory=tmp_path_factory.getbasetemp(),
        content_hash="c",
        environment_hash="e",
        spec=Spec(memory_mib=1),
    )
    experiment = Experiment(
        tasks=("t",), samples=samples, seed=seed, factors={"concurrency": sorted(levels)}
    )
    trials = list(plan(experiment, [task]).trials)
    assert [trial.position for trial in trials] == list(range(len(trials)))
    assert len({trial.id for trial in trials}) == len(trials)
