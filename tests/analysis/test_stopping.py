"""When a run has seen enough: after any round, or at the looks that were declared."""

import numpy as np
import pytest

from infranoise.analysis.cells import Cells
from infranoise.analysis.looks import look_rounds, looked
from infranoise.analysis.stopping import Stopping, StopRule, stopping
from infranoise.models.errors import DesignError, SampleTooSmall

TASKS = 60


def _rounds(rng: np.random.Generator, rounds: int, *lifts: float) -> Cells:
    """One trial of every task in every band and round; the first band is the floor."""
    band, task, sample = np.indices((1 + len(lifts), TASKS, rounds)).reshape(3, -1)
    rate = np.linspace(0.1, 0.8, TASKS)[task] + np.array([0.0, *lifts])[band]
    return Cells.of_counts(
        {"task": task, "entry": ["e"] * task.size, "band": band, "sample": sample},
        n=np.ones(task.size),
        passed=rng.binomial(1, rate),
    )


def test_a_run_stops_once_every_lift_is_decided_and_says_on_what() -> None:
    cells = _rounds(np.random.default_rng(1), 12, 0.15, 0.0)
    rule = StopRule(margin=0.12)
    found = stopping(cells, "0", rule, planned=40)
    assert found is not None
    assert found.stop
    assert [one.decision for one in found.contrasts] == ["difference", "equivalent"]
    assert found.sentence.startswith("After 12 of 40 rounds: 1 over 0 +")
    assert found.sentence.endswith("equal within the margin.")
    assert "margin of 12.0 points" in found.rule


def test_one_open_lift_keeps_the_run_going() -> None:
    cells = _rounds(np.random.default_rng(1), 12, 0.15, 0.0)
    found = stopping(cells, "0", StopRule(margin=0.01), planned=40)
    assert found is not None
    assert not found.stop


def test_a_run_that_is_at_its_end_is_not_stopped_early() -> None:
    cells = _rounds(np.random.default_rng(1), 12, 0.2)
    found = stopping(cells, "0", StopRule(), planned=12)
    assert found is not None
    assert not found.stop


def test_between_declared_looks_nothing_is_read() -> None:
    cells, rule = _rounds(np.random.default_rng(2), 9, 0.15), StopRule(looks=4)

    def after(rounds: int) -> Stopping | None:
        so_far = cells.select(sample=[str(k) for k in range(rounds)])
        return stopping(so_far, "0", rule, planned=20)

    assert after(4) is None
    at_look = after(5)
    assert at_look is not None
    assert at_look.rounds == 5
    assert after(9) == at_look


@pytest.mark.parametrize(
    ("looks", "rounds", "at"), [(1, 10, (10,)), (4, 10, (3, 5, 8, 10)), (10, 10, (*range(1, 11),))]
)
def test_looks_are_spread_over_the_run(looks: int, rounds: int, at: tuple[int, ...]) -> None:
    assert look_rounds(looks, rounds) == at


def test_a_look_that_decided_is_not_taken_back() -> None:
    cells = _rounds(np.random.default_rng(4), 20, 0.12)
    found = looked(cells, "1", "0", looks=4, planned=20, margin=0.03)
    early = looked(
        cells.select(sample=[str(k) for k in range(found.decided_at or 20)]),
        "1",
        "0",
        looks=4,
        planned=20,
        margin=0.03,
    )
    assert found.decision == early.decision == "difference"
    assert found.decided_at == early.decided_at


def test_declared_looks_keep_their_size() -> None:
    rng = np.random.default_rng(5)
    alarms = [
        looked(_rounds(rng, 8, 0.0), "1", "0", looks=4, planned=8, margin=0.001).decision
        == "difference"
        for _ in range(150)
    ]
    assert np.mean(alarms) <= 0.095, "three standard errors above 5 %"


def test_bands_that_agree_to_the_last_trial_decide_nothing() -> None:
    cells = Cells.of_counts(
        {
            "task": ["t"] * 4,
            "entry": ["e"] * 4,
            "band": ["1x", "3x"] * 2,
            "sample": ["0", "0", "1", "1"],
        },
        n=[1] * 4,
        passed=[1] * 4,
    )
    found = looked(cells, "3x", "1x", looks=1, planned=2, margin=0.03)
    assert (found.decision, found.lo, found.hi) == ("continue", -1.0, 1.0)


def test_rules_that_could_never_stop_are_refused() -> None:
    for rule, rounds, words in (
        (StopRule(margin=0.0), 20, "give points between 0 and 100"),
        (StopRule(), 4, "could not stop early"),
        (StopRule(looks=9), 8, "declare 1 to 8"),
    ):
        with pytest.raises(DesignError, match=words):
            rule.check(rounds)
    StopRule(looks=2).check(3)
    with pytest.raises(SampleTooSmall, match="first look falls after 5 rounds"):
        looked(_rounds(np.random.default_rng(1), 2, 0.1), "1", "0", looks=4, planned=20, margin=0.1)
