"""Balance of an assigned factor over the others: R's statistic, and a p that keeps its size."""

from pathlib import Path

import numpy as np
import pytest

from infranoise.analysis.balance import balance, imbalanced
from infranoise.analysis.cells import Cells
from infranoise.analysis.columns import Columns
from infranoise.analysis.factor import Factor
from infranoise.analysis.read import read_table
from infranoise.models.errors import DesignError

GOLDEN = Path(__file__).parents[1] / "golden"
BAND = Factor("band", "trial")
OTHERS = (Factor("node"), Factor("hour"), Factor("conc", "wave", "batch"))
# mantelhaen.test(table(b, other, interaction(t, m))) of R 4.2.2: statistic, df, p.
R = {
    "node": (1151.795439, 10, 3.589137e-241),
    "hour": (33.67247, 25, 0.1150961),
    "conc": (291.5041, 10, 9.703853e-57),
}


@pytest.fixture(scope="module")
def observed() -> Cells:
    names = {name: name for name in ("node", "hour", "conc", "batch")}
    columns = Columns.parse("task=t,entry=m,band=b,passed=y,infra_error=err", names)
    return read_table(GOLDEN / "observed_trials.csv", columns)


def test_the_statistic_is_that_of_r(observed: Cells) -> None:
    found = {row.beside: row for row in balance(observed, [BAND, *OTHERS], draws=0)}
    assert found.keys() == R.keys()
    for beside, (stat, df, p) in R.items():
        row = found[beside]
        assert (row.stat, row.df) == (pytest.approx(stat, rel=1e-6), df)
        assert row.p == pytest.approx(p, rel=1e-5)


def test_shuffling_agrees_and_what_goes_together_is_named(observed: Cells) -> None:
    rows = balance(observed, [BAND, *OTHERS])
    by_shuffles = {row.beside: row.p for row in rows}
    assert by_shuffles["hour"] == pytest.approx(R["hour"][2], abs=0.05)
    assert by_shuffles["node"] == 1 / 500
    assert {row.beside for row in imbalanced(rows)} == {"node", "conc"}


def test_only_factors_assigned_per_trial_are_shuffled(observed: Cells) -> None:
    assert balance(observed, OTHERS) == ()
    rows = balance(observed, [BAND, Factor("hour", "trial")], draws=9)
    assert [(row.factor, row.beside) for row in rows] == [("band", "hour"), ("hour", "band")]
    with pytest.raises(DesignError, match="no factor 'moon'"):
        balance(observed, [BAND, Factor("moon")])


def test_a_factor_that_goes_with_the_stratum_or_never_changes_is_left_out(observed: Cells) -> None:
    assert balance(observed.constant(egress="all"), [BAND, Factor("egress")]) == ()
    assert balance(observed, [BAND, Factor("task")]) == ()


def test_labels_shuffled_within_strata_alarm_at_the_stated_rate() -> None:
    rng = np.random.default_rng(7)
    task, node = np.repeat(np.arange(10), 24), rng.integers(0, 3, 240)
    alarms = 0
    for _ in range(200):
        band = np.concatenate([rng.permutation(np.repeat([0, 1], 12)) for _ in range(10)])
        cells = Cells.of_counts(
            {"task": task, "entry": np.zeros(240, int), "band": band, "node": node},
            n=np.ones(240, int),
            passed=np.zeros(240, int),
        )
        (row,) = balance(cells, [BAND, Factor("node")], draws=0)
        alarms += row.p < 0.05
    assert 3 <= alarms <= 20
