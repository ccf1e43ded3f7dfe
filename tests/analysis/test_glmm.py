"""The logistic mixed model, against lme4."""

import csv
import json
from pathlib import Path
from typing import Any, Literal

import pytest

from infranoise.analysis.cells import Cells
from infranoise.analysis.glmm import (
    Glmm,
    data_scale_icc,
    fit_glmm,
    latent_icc,
    population_mean,
)
from infranoise.models.errors import DesignError, SampleTooSmall

GOLDEN = Path(__file__).parents[1] / "golden"
R = json.loads((GOLDEN / "mixed_model.json").read_text())
FITS: list[tuple[str, Literal["task", "stratum"]]] = [
    ("balanced", "task"),
    ("balanced", "stratum"),
    ("ragged", "task"),
    ("ragged", "stratum"),
]


def _cells(name: str) -> Cells:
    with (GOLDEN / f"mixed_{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    return Cells.of_counts(
        {factor: [row[factor] for row in rows] for factor in ("task", "entry", "band")},
        n=[int(row["n"]) for row in rows],
        passed=[int(row["passed"]) for row in rows],
    )


def _as_r(terms: dict[str, float]) -> dict[str, float]:
    """R's names of the terms: "band:2" is "band2" there."""
    return {name.replace(":", "").replace("(i", "(I"): value for name, value in terms.items()}


@pytest.fixture(scope="module", params=FITS, ids="-".join)
def fit(request: pytest.FixtureRequest) -> tuple[Glmm, dict[str, Any]]:
    name, intercepts = request.param
    return fit_glmm(_cells(name), intercepts=intercepts), R[name][intercepts]


def test_effects_are_those_of_glmer(fit: tuple[Glmm, dict[str, Any]]) -> None:
    found, expected = fit
    assert _as_r(dict(found.fixed)) == pytest.approx(expected["fixed"], rel=1e-5, abs=1e-5)


def test_standard_errors_are_those_of_glmer(fit: tuple[Glmm, dict[str, Any]]) -> None:
    found, expected = fit
    assert _as_r(dict(found.se)) == pytest.approx(expected["se"], rel=1e-4)


def test_the_spread_of_intercepts_is_that_of_glmer(fit: tuple[Glmm, dict[str, Any]]) -> None:
    found, expected = fit
    assert found.sd_task == pytest.approx(expected["sd"], rel=1e-5)


def test_population_means_and_shares_are_those_of_the_integrals(
    fit: tuple[Glmm, dict[str, Any]],
) -> None:
    found, expected = fit
    assert dict(found.pa_means) == pytest.approx(expected["pa_means"], rel=1e-5)
    assert found.icc_latent == pytest.approx(expected["icc_latent"], rel=1e-5)
    assert found.icc_data == pytest.approx(expected["icc_data"], rel=1e-5)


def test_the_two_scales_do_not_agree_on_the_same_data() -> None:
    assert latent_icc(2.2) > data_scale_icc(-0.7, 2.2) + 0.1


def test_coarse_nodes_end_where_fine_nodes_do() -> None:
    cells = _cells("ragged")
    coarse, fine = fit_glmm(cells, nodes=9), fit_glmm(cells, nodes=31)
    assert dict(coarse.fixed) == pytest.approx(dict(fine.fixed), abs=1e-5)
    assert coarse.sd_task == pytest.approx(fine.sd_task, abs=1e-5)


def test_the_reference_moves_the_terms_and_not_the_means() -> None:
    cells = _cells("balanced")
    first, third = fit_glmm(cells), fit_glmm(cells, reference="2")
    assert third.fixed["band:0"] == pytest.approx(-first.fixed["band:2"], abs=1e-6)
    assert dict(third.pa_means) == pytest.approx(dict(first.pa_means), abs=1e-7)
    assert third.pa_lift["0"].est == pytest.approx(-first.pa_lift["2"].est, abs=1e-7)
    assert third.pa_lift["0"].se == pytest.approx(first.pa_lift["2"].se, rel=1e-5)


def test_tasks_that_do_not_differ_have_no_spread() -> None:
    cells = Cells.of_counts(
        {"task": list("aabbccdd"), "entry": ["e"] * 8, "band": ["1x", "3x"] * 4},
        n=[10] * 8,
        passed=[4, 6] * 4,
    )
    found = fit_glmm(cells)
    assert found.sd_task == pytest.approx(0.0, abs=1e-4)
    assert found.pa_means == pytest.approx({"1x": 0.4, "3x": 0.6}, abs=1e-6)


def test_without_spread_a_population_mean_is_the_rate() -> None:
    assert float(population_mean(0.0, 3.0)) == pytest.approx(0.5)
    assert float(population_mean(1.0, 0.0)) == pytest.approx(0.7310585786)


def test_levels_without_trials_have_no_term() -> None:
    cells = _cells("balanced")
    kept = cells.select(band=["0", "1"])
    widened = Cells.of_counts(
        {
            "task": [cells.levels["task"][i] for i in kept.codes["task"]],
            "entry": [cells.levels["entry"][i] for i in kept.codes["entry"]],
            "band": [kept.levels["band"][i] for i in kept.codes["band"]],
        },
        n=kept.n,
        passed=kept.passed,
        levels={"band": ["0", "1", "never"]},
    )
    assert set(fit_glmm(widened).pa_means) == {"0", "1"}


def test_what_has_no_finite_fit_is_refused() -> None:
    solved = Cells.of_counts(
        {"task": list("aabb"), "entry": ["e"] * 4, "band": ["1x", "3x"] * 2},
        n=[5] * 4,
        passed=[2, 5, 3, 5],
    )
    with pytest.raises(SampleTooSmall, match="band 3x: 10 of 10"):
        fit_glmm(solved)
    with pytest.raises(SampleTooSmall, match="2 or more tasks"):
        fit_glmm(solved.select(task="a", band="1x"))
    split_by_task = Cells.of_counts(
        {"task": list("aabbccdd"), "entry": ["e"] * 8, "band": ["1x", "3x"] * 4},
        n=[9] * 8,
        passed=[0, 0, 0, 0, 9, 9, 9, 9],
    )
    with pytest.raises(SampleTooSmall, match="no finite maximum"):
        fit_glmm(split_by_task)
    with pytest.raises(DesignError, match="no level 'x'"):
        fit_glmm(_cells("balanced"), reference="x")
