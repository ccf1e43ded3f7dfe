"""The absorbed linear probability model: effects, HC2, clustered and two-way errors."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.absorbed import Column, Design, absorb
from infranoise.analysis.arrays import Floats
from infranoise.analysis.cells import Cells
from infranoise.analysis.clusters import clustered, two_way
from infranoise.analysis.columns import Columns
from infranoise.analysis.fit import Fit, fit
from infranoise.analysis.inverse_root import inverse_root_times
from infranoise.analysis.read import read_table
from infranoise.models.errors import DesignError, SampleTooSmall

GOLDEN = Path(__file__).parents[1] / "golden"
GIVEN = {row["id"]: row["expected"] for row in json.loads((GOLDEN / "effects.json").read_text())}
R = json.loads((GOLDEN / "linear_model.json").read_text())
FACTORS = ("band", "node", "hour", "conc")
OBSERVED = Columns.parse(
    "task=t,entry=m,band=b,passed=y,infra_error=err",
    {"node": "node", "hour": "hour", "conc": "conc", "batch": "batch"},
)


@pytest.fixture(scope="module")
def observed() -> Cells:
    return read_table(GOLDEN / "observed_trials.csv", OBSERVED)


@pytest.fixture(scope="module")
def ragged(observed: Cells) -> Cells:
    """Two trials in five, so that some strata keep one trial or one configuration."""
    t, m, b, batch = (observed.codes[f] for f in ("task", "entry", "band", "batch"))
    kept = ((t * 7 + m * 3 + (b + 1) * 5 + batch * 11) % 10 < 4) & ((t % 3 > 0) | (batch < 9))
    return observed.where(kept)


def _named(design: Design, values: Floats) -> dict[str, float]:
    short = {"band": "b"}
    return {
        short.get(c.factor, c.factor) + c.level: float(v)
        for c, v in zip(design.columns, values, strict=True)
    }


def _errors(found: Fit, covariance: Floats) -> dict[str, float]:
    return _named(found.design, np.sqrt(np.diag(covariance)))


def _same(ours: Mapping[str, float], theirs: Mapping[str, float], rel: float = 1e-8) -> None:
    assert ours == pytest.approx({name: theirs[name] for name in ours}, rel=rel)


def test_effects_and_errors_are_those_of_r(observed: Cells) -> None:
    found = fit(absorb(observed, FACTORS))
    by_task = clustered(found, found.design.cells.codes["task"])
    _same(_named(found.design, found.effects), GIVEN["C05"], rel=1e-9)
    _same(_errors(found, found.same), GIVEN["C05b"])
    _same(_errors(found, by_task.covariance), GIVEN["C05d"])
    assert (found.design.trials, found.design.parameters, by_task.clusters) == tuple(
        GIVEN["C05d"][name] for name in ("N", "K", "G")
    )


@pytest.mark.parametrize("data", ["all", "ragged"])
def test_every_kind_of_error_is_that_of_r(data: str, observed: Cells, ragged: Cells) -> None:
    expected = R[data]
    found = fit(absorb({"all": observed, "ragged": ragged}[data], FACTORS, clusters=["batch"]))
    task, wave = (found.design.cells.codes[name] for name in ("task", "batch"))
    assert (found.design.trials, found.design.parameters) == (expected["N"], expected["K"])
    _same(_named(found.design, found.effects), expected["est"])
    _same(_errors(found, found.same), expected["hc2"])
    _same(_errors(found, clustered(found, task, "CR1").covariance), expected["cr1_task"])
    _same(_errors(found, clustered(found, wave, "CR0").covariance), expected["cr0_wave"])
    for name, cluster in (("cr2_task", task), ("cr2_wave", wave)):
        reduced = clustered(found, cluster, "CR2")
        _same(_errors(found, reduced.covariance), expected[name]["se"], rel=1e-7)
        _same(_named(found.design, reduced.df), expected[name]["df"], rel=1e-6)


def test_shocks_shared_two_ways_are_those_of_r(ragged: Cells) -> None:
    found = fit(absorb(ragged, FACTORS, clusters=["batch"]))
    task, wave = (found.design.cells.codes[name] for name in ("task", "batch"))
    _same(_named(found.design, np.diag(two_way(found, task, wave).covariance)),
          R["ragged"]["two_way"])  # fmt: skip


def test_below_forty_clusters_the_errors_are_bias_reduced(observed: Cells) -> None:
    found = fit(absorb(observed, FACTORS, clusters=["batch"]))
    wave = found.design.cells.codes["batch"]
    by_rule, asked = clustered(found, wave), clustered(found, wave, "CR2")
    assert np.array_equal(by_rule.covariance, asked.covariance)
    assert (by_rule.df < 23).all()
    by_task = clustered(found, found.design.cells.codes["task"])
    assert set(by_task.df) == {39.0}


def _dense(cells: Cells, factors: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Trials and their full design, one row each, strata as dummies: the model written out."""
    rows = np.repeat(np.arange(len(cells)), cells.n)
    passed = np.concatenate(
        [np.arange(n) < s for n, s in zip(cells.n, cells.passed, strict=True)]
    ).astype(float)
    dummies = [cells.strata()[0][rows][:, None] == np.arange(cells.strata()[1])]
    dummies += [
        cells.codes[f][rows][:, None] == np.arange(1, len(cells.levels[f])) for f in factors
    ]
    return np.hstack(dummies[1:] + dummies[:1]).astype(float), passed


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_on_cells_or_on_trials_the_model_is_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    task, entry, band, node = rng.integers(0, [4, 2, 3, 2], (40, 4)).T
    n = rng.integers(1, 4, 40)
    cells = Cells.of_counts(
        {"task": task, "entry": entry, "band": band, "node": node},
        n=n,
        passed=rng.binomial(n, 0.5),
    )
    design = absorb(cells, ("band", "node"))
    found = fit(design)
    if design.aliased:
        return
    x, y = _dense(design.cells, ("band", "node"))
    used = x.any(axis=0)
    inverse = np.linalg.pinv(x[:, used].T @ x[:, used])
    beta = inverse @ x[:, used].T @ y
    leverage = np.einsum("ij,jk,ik->i", x[:, used], inverse, x[:, used])
    p = len(design.columns)
    assert found.effects == pytest.approx(beta[:p], abs=1e-8)
    if (leverage < 1 - 1e-6).all():
        squares = (y - x[:, used] @ beta) ** 2 / (1 - leverage)
        same = inverse @ (x[:, used].T * squares) @ x[:, used] @ inverse
        assert found.same == pytest.approx(same[:p, :p], abs=1e-8)


def test_the_reference_level_changes_the_signs_and_not_the_model(observed: Cells) -> None:
    there = fit(absorb(observed, ["band"]))
    back = fit(absorb(observed, ["band"], references={"band": "5"}))
    level = {column: i for i, column in enumerate(back.design.columns)}
    last = there.effects[there.design.columns.index(Column("band", "5"))]
    assert back.effects[level[Column("band", "0")]] == pytest.approx(-last)
    assert back.residual == pytest.approx(there.residual, abs=1e-12)
    with pytest.raises(DesignError, match="no trials to compare with"):
        absorb(observed.where(observed.codes["band"] > 0), ["band"], references={"band": "0"})


def test_strata_in_which_nothing_varies_are_dropped(observed: Cells) -> None:
    lone = Cells.of_counts(
        {"task": ["a", "a", "b", "c"], "entry": ["m"] * 4, "band": ["1", "2", "1", "2"]},
        n=[5, 5, 5, 1],
        passed=[1, 4, 5, 1],
    )
    design = absorb(lone, ["band"])
    assert (design.dropped_strata, design.trials) == (2, 10)
    with pytest.raises(SampleTooSmall, match="does band vary"):
        absorb(lone.select(task=["b", "c"]), ["band"])


def test_a_factor_that_is_another_in_disguise_is_aliased_and_so_is_the_other() -> None:
    cells = Cells.of_counts(
        {
            "task": ["a", "a", "a", "b", "b", "b"],
            "entry": ["m"] * 6,
            "band": ["1", "2", "3", "1", "2", "3"],
            "node": ["x", "y", "x", "x", "y", "x"],
        },
        n=[5] * 6,
        passed=[1, 2, 3, 2, 3, 5],
    )
    design = absorb(cells, ["band", "node"])
    assert design.aliased == {Column("band", "2"), Column("node", "y")}
    assert design.columns == (Column("band", "2"), Column("band", "3"))


def test_a_trial_that_fits_itself_alone_borrows_its_noise() -> None:
    cells = Cells.of_counts(
        {"task": ["a", "a", "a", "b", "b"], "entry": ["m"] * 5, "band": ["1", "2", "3", "1", "2"]},
        n=[4, 4, 1, 4, 4],
        passed=[1, 3, 1, 2, 2],
    )
    found = fit(absorb(cells, ["band"]))
    assert np.isfinite(found.same).all()
    assert (np.diag(found.same) > 0.0).all()


def test_one_cluster_is_no_clustering(observed: Cells) -> None:
    found = fit(absorb(observed, ["band"]))
    with pytest.raises(SampleTooSmall, match="share one cluster"):
        clustered(found, np.zeros(len(found.design.cells), dtype=np.int64))


@given(st.integers(0, 2**32 - 1))
def test_an_arrows_inverse_root_is_that_of_its_eigenvalues(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, s = 3, 7
    q = rng.normal(size=(40, p + s))
    q[:, p:] = np.linalg.qr(q[:, p:])[0] * rng.uniform(0.1, 0.9, s)
    q[:, :p] *= 0.05
    whole = q.T @ q
    values, vectors = np.linalg.eigh(whole)
    right = rng.normal(size=(p + s, 4))
    found = inverse_root_times(whole[:p, :p], whole[:p, p:], np.diag(whole)[p:], right)
    assert found == pytest.approx((vectors / np.sqrt(1 - values)) @ vectors.T @ right, rel=1e-6)


def test_an_arrow_that_is_all_but_singular_is_handed_back() -> None:
    assert inverse_root_times(np.eye(1), np.zeros((1, 1)), np.zeros(1), np.ones((2, 1))) is None
