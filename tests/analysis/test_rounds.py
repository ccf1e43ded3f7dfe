"""The monitor on cells: which rounds are complete, and what one of them is worth."""

import numpy as np
import pytest

from infranoise.analysis.cells import Cells
from infranoise.analysis.rounds import complete_rounds, watch
from infranoise.analysis.sequential import round_sd
from infranoise.models.errors import DesignError, SampleTooSmall

TASKS, ENTRIES = 40, 2


def _run(rng: np.random.Generator, rounds: int, lift: float, bands: int = 2) -> Cells:
    """One trial of every task, entry and band in each round."""
    task, entry, band, sample = np.indices((TASKS, ENTRIES, bands, rounds)).reshape(4, -1)
    rate = np.linspace(0.1, 0.8, TASKS)[task] + lift * band
    return Cells.of_counts(
        {"task": task, "entry": entry, "band": band, "sample": sample},
        n=np.ones(task.size),
        passed=rng.binomial(1, rate),
    )


def test_rounds_are_differences_in_their_order() -> None:
    cells = Cells.of_counts(
        {
            "task": ["s", "t"] * 4,
            "entry": ["e"] * 8,
            "band": ["1x", "1x", "3x", "3x"] * 2,
            "sample": ["0"] * 4 + ["1"] * 4,
        },
        n=[1] * 8,
        passed=[0, 0, 1, 0, 1, 1, 0, 1],
    )
    assert complete_rounds(cells, "3x", "1x").differences.tolist() == [0.5, -0.5]


def test_a_round_that_lacks_a_trial_waits() -> None:
    cells = _run(np.random.default_rng(1), rounds=3, lift=0.0)
    late = (cells.codes["sample"] == 2) & (cells.codes["task"] == 7) & (cells.codes["band"] == 1)
    assert complete_rounds(cells.where(~late), "1", "0").differences.size == 2


def test_the_spread_of_a_round_is_known_from_the_cells() -> None:
    rng = np.random.default_rng(3)
    found = complete_rounds(_run(rng, rounds=400, lift=0.0), "1", "0")
    within = float(np.mean([p * (1 - p) for p in np.linspace(0.1, 0.8, TASKS)]))
    assert found.sigma == pytest.approx(round_sd(within, TASKS, ENTRIES), rel=0.01)
    assert found.differences.std(ddof=1) == pytest.approx(found.sigma, rel=0.1)


def test_every_band_is_watched_against_the_reference() -> None:
    cells = _run(np.random.default_rng(2), rounds=12, lift=0.1, bands=3)
    found = watch(cells, margin=0.03)
    assert [m.contrast for m in found] == ["1 - 0", "2 - 0"]
    assert found[1].decision == "difference"
    assert [m.contrast for m in watch(cells, "2", margin=0.03)] == ["0 - 2", "1 - 2"]


def test_nothing_is_decided_before_the_fourth_round() -> None:
    cells = _run(np.random.default_rng(2), rounds=3, lift=0.2)
    (found,) = watch(cells, margin=0.03)
    assert found.est > 0.1
    assert not found.may_stop


def test_false_alarms_stay_rare_when_the_spread_is_estimated() -> None:
    rng = np.random.default_rng(5)
    alarms = [
        watch(_run(rng, rounds=15, lift=0.0), margin=0.01)[0].decision == "difference"
        for _ in range(150)
    ]
    assert np.mean(alarms) <= 0.06


def test_a_run_that_cannot_be_watched_is_refused() -> None:
    cells = _run(np.random.default_rng(2), rounds=2, lift=0.0)
    with pytest.raises(SampleTooSmall, match="no complete round of 1 and 0"):
        watch(cells.where(cells.codes["task"] != cells.codes["sample"]), margin=0.03)
    with pytest.raises(DesignError, match="no factor 'lap'"):
        watch(cells, margin=0.03, rounds="lap")
    with pytest.raises(DesignError, match="two bands"):
        watch(cells.select(band="0"), margin=0.03)
