"""Companions of a contrast: pooled, paired, stratified and exact tests, and trends."""

import json
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from infranoise.analysis.cells import Cells
from infranoise.analysis.cmh import cmh
from infranoise.analysis.columns import Columns
from infranoise.analysis.pairs import Pairs, pairs
from infranoise.analysis.permutation import exact
from infranoise.analysis.proportions import fisher, mcnemar_mid_p, two_proportions
from infranoise.analysis.read import read_table
from infranoise.analysis.trend import cochran_armitage, page, trend
from infranoise.models.errors import DesignError, SampleTooSmall

GOLDEN = Path(__file__).parents[1] / "golden"
R = {row["id"]: row["expected"] for row in json.loads((GOLDEN / "effects.json").read_text())}
LINEAR = json.loads((GOLDEN / "linear_model.json").read_text())


@pytest.fixture(scope="module")
def grid() -> Cells:
    columns = Columns.parse("task=t,entry=m,band=b,n=n,passes=s,infra_errors=err")
    return read_table(GOLDEN / "balanced_grid.csv", columns)


def _pairs(hits_a: list[int], n_a: list[int], hits_b: list[int], n_b: list[int]) -> Pairs:
    columns = (np.array(c) for c in (hits_a, n_a, hits_b, n_b))
    return Pairs(*columns, np.arange(len(n_a)))


def test_the_stratified_test_is_that_of_r(grid: Cells) -> None:
    found, expected = cmh(pairs(grid, "5", "0")), R["C04"]
    assert found.informative_strata == expected["informative_strata"]
    assert [found.stat, found.p, found.odds_ratio, found.stat_cc, found.p_cc] == pytest.approx(
        [expected[k] for k in ("stat", "p", "or", "stat_cc", "p_cc")], rel=1e-8
    )


def test_the_exact_stratified_test_is_that_of_r(grid: Cells) -> None:
    assert exact(pairs(grid, "5", "0")) == pytest.approx(LINEAR["exact"], rel=1e-10)


def test_in_one_stratum_the_exact_test_is_fishers() -> None:
    table = _pairs([7], [10], [2], [9])
    assert exact(table) == pytest.approx(fisher(7, 10, 2, 9), rel=1e-12)


def test_of_single_pairs_the_stratified_test_is_mcnemars() -> None:
    only_a, only_b, both = 9, 3, 4
    hits_a = [1] * only_a + [0] * only_b + [1] * both
    hits_b = [0] * only_a + [1] * only_b + [1] * both
    ones = [1] * len(hits_a)
    found = cmh(_pairs(hits_a, ones, hits_b, ones))
    assert found.stat == pytest.approx((only_a - only_b) ** 2 / (only_a + only_b))
    assert found.odds_ratio == pytest.approx(only_a / only_b)
    assert found.informative_strata == only_a + only_b


def test_strata_of_one_kind_throughout_say_nothing() -> None:
    found = cmh(_pairs([5, 0], [5, 5], [5, 0], [5, 5]))
    assert (found.stat, found.p, found.odds_ratio, found.informative_strata) == (None,) * 3 + (0,)
    assert exact(_pairs([5, 0], [5, 5], [5, 0], [5, 5])) is None


def test_fractions_are_no_two_by_two_tables() -> None:
    cells = Cells.of_counts(
        {"task": ["t", "t"], "entry": ["m", "m"], "band": ["a", "b"]},
        n=[2, 2],
        passed=[0, 0],
        reward_sum=[0.5, 1.0],
        reward_sumsq=[0.25, 0.5],
    )
    with pytest.raises(DesignError, match="rewards of 0 and 1"):
        pairs(cells, "a", "b")
    assert pairs(cells, "a", "b", measure="infra").n_a.tolist() == [2]


def test_fishers_test_is_that_of_r() -> None:
    assert fisher(52, 890, 19, 890) == pytest.approx(R["C08b"]["fisher_p"], rel=1e-7)


def test_paired_single_samples_have_the_published_mid_p() -> None:
    # Airway reactivity before and after transplantation; Fagerland, Lydersen & Laake (2013),
    # BMC Med Res Methodol 13:91, table 2.
    assert mcnemar_mid_p(1, 7) == pytest.approx(0.039, abs=5e-4)
    assert mcnemar_mid_p(7, 1) == mcnemar_mid_p(1, 7)


def test_pairs_that_balance_share_the_middle_and_none_give_no_p() -> None:
    assert mcnemar_mid_p(4, 4) == pytest.approx(1 - comb(8, 4) / 2**8 / 2)
    assert mcnemar_mid_p(0, 0) is None


def test_two_groups_that_all_ended_alike_have_no_p() -> None:
    found = two_proportions(5, 5, 7, 7)
    assert (found.est, found.stat, found.p) == (0.0, None, None)
    with pytest.raises(SampleTooSmall):
        two_proportions(0, 0, 1, 2)


def test_the_trend_of_the_published_counts_is_that_of_r() -> None:
    expected, n = R["C08"], [890] * 6
    infra = cochran_armitage([52, 38, 29, 19, 11, 4], n)
    score = cochran_armitage([374, 379, 384, 391, 409, 427], n)
    assert [infra.stat, infra.p, score.stat, score.p] == pytest.approx(
        [expected[k] for k in ("ca_infra", "ca_infra_p", "ca_score", "ca_score_p")], rel=1e-9
    )


@given(st.integers(3, 6), st.integers(2, 15), st.integers(0, 2**32 - 1))
def test_pages_test_without_ties_is_the_textbooks(levels: int, tasks: int, seed: int) -> None:
    means = np.random.default_rng(seed).random((tasks, levels))
    found = page(means)
    book = stats.page_trend_test(means, method="asymptotic")
    assert (found.stat, found.p) == pytest.approx((book.statistic, book.pvalue))
    assert found.p_tied == pytest.approx(found.p)


def test_ties_are_no_evidence_but_leave_less_spread() -> None:
    means = np.vstack([np.zeros((10, 4)), np.tile([0.1, 0.2, 0.3, 0.4], (5, 1))])
    found = page(means)
    assert found.p_tied < found.p
    assert page(np.zeros((3, 4))).p_tied is None


def test_a_trend_needs_three_bands_and_trials(grid: Cells) -> None:
    assert trend(grid).infra_cochran_armitage_p < 1e-5
    assert 0.0 < trend(grid).score_page_p < 0.05
    two = trend(grid.select(band=["0", "5"]))
    assert two.score_page_p is None
    assert two.infra_cochran_armitage_p is not None
    with pytest.raises(SampleTooSmall):
        cochran_armitage([1], [5])
