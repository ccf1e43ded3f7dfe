"""Conditional logistic regression: that of R's survival, or refused."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.cells import Cells
from infranoise.analysis.cmh import cmh
from infranoise.analysis.columns import Columns
from infranoise.analysis.conditional_logit import conditional_logit
from infranoise.analysis.pairs import pairs
from infranoise.analysis.read import read_table
from infranoise.models.errors import DesignError, SampleTooSmall

GOLDEN = Path(__file__).parents[1] / "golden"
R = json.loads((GOLDEN / "conditional_logit.json").read_text())
COUNTS = Columns.parse("task=t,entry=m,band=b,n=n,passes=s,infra_errors=err")
TRIALS = Columns.parse("task=t,entry=m,band=b,passed=y,infra_error=err")


@pytest.mark.parametrize("data", R)
def test_odds_errors_and_p_are_those_of_r(data: str) -> None:
    if data == "ragged":
        cells = read_table(GOLDEN / "observed_trials.csv", TRIALS)
        cells = cells.select(task=[str(t) for t in range(20)])
    else:
        cells = read_table(GOLDEN / "balanced_grid.csv", COUNTS)
    found = conditional_logit(cells, "0", levels=["0", "5"] if data == "pair" else None)
    rows = {row.level: row for row in found.levels}
    assert {b: r.log_odds for b, r in rows.items()} == pytest.approx(R[data]["log_odds"], rel=1e-9)
    assert {b: row.se for b, row in rows.items()} == pytest.approx(R[data]["se"], rel=1e-9)
    assert found.p == pytest.approx(R[data]["p"], rel=1e-8)


def counts(*rows: tuple[str, str, int, int]) -> Cells:
    return Cells.of_counts(
        {"task": [r[0] for r in rows], "entry": ["a"] * len(rows), "band": [r[1] for r in rows]},
        n=[r[2] for r in rows],
        passed=[r[3] for r in rows],
    )


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=8, max_size=8))
def test_swapping_the_reference_turns_the_odds_over_and_agrees_with_cmh(
    drawn: list[tuple[int, int]],
) -> None:
    rows = [(f"t{k // 2}", "uv"[k % 2], n, min(n, s)) for k, (n, s) in enumerate(drawn)]
    cells = counts(*rows)
    try:
        ahead, back = conditional_logit(cells, "u"), conditional_logit(cells, "v")
    except SampleTooSmall:
        return
    assert back.levels[0].log_odds == pytest.approx(-ahead.levels[0].log_odds, abs=1e-9)
    assert back.p == pytest.approx(ahead.p, abs=1e-9)
    ratio = cmh(pairs(cells, "v", "u")).odds_ratio
    if ratio is not None and abs(ahead.levels[0].log_odds) > 1e-9 and ratio != pytest.approx(1.0):
        assert (ratio > 1.0) == (ahead.levels[0].log_odds > 0.0)


def test_large_strata_neither_underflow_nor_take_long() -> None:
    cells = counts(("x", "u", 20_000, 40), ("x", "v", 20_000, 80))
    (row,) = conditional_logit(cells, "u").levels
    assert row.odds_ratio == pytest.approx(80 * 19_960 / (40 * 19_920), rel=1e-3)


REFUSED = {
    "all passed": [("x", "u", 3, 3), ("x", "v", 3, 3)],
    "one band": [("x", "u", 3, 1)],
    "no shared task": [("x", "u", 3, 1), ("y", "v", 3, 1)],
    "nothing but passes at one level": [("x", "u", 3, 3), ("x", "v", 3, 1), ("y", "v", 3, 1)],
}


@pytest.mark.parametrize("what", REFUSED)
def test_endless_odds_are_refused(what: str) -> None:
    with pytest.raises(SampleTooSmall):
        conditional_logit(counts(*REFUSED[what]))


def test_fractions_have_no_odds() -> None:
    cells = Cells.of_counts({"task": ["x", "x"], "entry": ["a", "a"], "band": ["u", "v"]},
                            n=[2, 2], passed=[0, 0], reward_sum=[0.5, 0.7],
                            reward_sumsq=[0.25, 0.4])  # fmt: skip
    with pytest.raises(DesignError, match="rewards of 0 and 1"):
        conditional_logit(cells)
