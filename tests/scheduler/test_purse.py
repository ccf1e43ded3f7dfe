"""Money: what a plan may cost, and how many trials may still begin."""

from collections.abc import Callable

import pytest

from infranoise.models.experiment import Experiment
from infranoise.models.task import Task
from infranoise.scheduler.expense import expense
from infranoise.scheduler.plan import plan
from infranoise.scheduler.purse import Purse

CASES = {
    "no budget": (Purse(None, 1.0, spent_usd=99.0), 5, None),
    "each may cost its limit": (Purse(10.0, 2.0), 0, 5),
    "what runs may cost its limit as well": (Purse(10.0, 2.0, spent_usd=3.0), 2, 1),
    "no room": (Purse(10.0, 2.0, spent_usd=9.0), 0, 0),
    "overspent": (Purse(10.0, None, spent_usd=11.0, ended=3), 0, 0),
    "without a limit the mean counts": (Purse(10.0, None, spent_usd=4.0, ended=4), 1, 5),
    "nothing is known yet": (Purse(10.0, None), 3, None),
}


@pytest.mark.parametrize("name", CASES)
def test_a_purse_affords_what_fits_its_budget(name: str) -> None:
    purse, running, more = CASES[name]
    assert purse.affords(running) == more


MODELS = {
    "providers": {"p": {"dialect": "anthropic", "base_url": "http://p"}},
    "models": {
        "dear": {
            "provider": "p",
            "price": {"input": 3.0, "output": 15.0},
            "expected": {"input": 100_000, "output": 10_000},
        },
        "plain": {"provider": "p", "price": {"input": 1.0, "output": 1.0}},
    },
    "entries": [
        {"agent": "shell", "model": "dear"},
        {"agent": "shell", "model": "plain"},
        {"agent": "oracle"},
    ],
    "bands": [{"name": "1x", "memory": {"floor": 1.0, "ceiling": 1.0}}],
}


def test_a_plan_costs_what_the_file_expects_or_what_was_measured(
    make_experiment: Callable[..., Experiment], make_task: Callable[..., Task]
) -> None:
    made = plan(make_experiment(**MODELS, limits={"usd": 2.0}, samples=3), [make_task()])
    found = expense(made)
    dear, plain = sorted(found.models, key=lambda one: one.model)
    assert (dear.trials, dear.most_usd) == (3, 6.0)
    assert dear.expected_usd == pytest.approx(3 * 0.45)
    assert plain.expected_usd is None
    assert found.expected_usd is None
    assert found.most_usd == 12.0
    measured = expense(made, {"shell/dear": 0.5, "shell/plain": 0.1})
    assert measured.expected_usd == pytest.approx(1.8)
    assert {one.source for one in measured.models} == {"measured before"}


def test_a_plan_without_models_costs_nothing_to_be_told(
    make_experiment: Callable[..., Experiment], make_task: Callable[..., Task]
) -> None:
    made = plan(make_experiment(bands=MODELS["bands"]), [make_task()])
    assert expense(made).models == ()
