"""Attribution: effects, components and shares of factors, at their level of assignment."""

import json
from dataclasses import fields, is_dataclass
from itertools import permutations
from math import factorial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.absorbed import absorb
from infranoise.analysis.attribution import FactorRow, attribute
from infranoise.analysis.cells import Cells
from infranoise.analysis.clusters import two_way
from infranoise.analysis.columns import Columns
from infranoise.analysis.components import components
from infranoise.analysis.diagnosis import diagnose, gvif
from infranoise.analysis.factor import Factor
from infranoise.analysis.fit import fit
from infranoise.analysis.flags import Flag
from infranoise.analysis.phi import phi, quadratic
from infranoise.analysis.read import read_table
from infranoise.analysis.shapley import shapley
from infranoise.models.errors import DesignError, InfranoiseError

GOLDEN = Path(__file__).parents[1] / "golden"
R = json.loads((GOLDEN / "linear_model.json").read_text())
SHORT = {"band": "b", "node": "node", "hour": "hour", "conc": "conc"}
FACTORS = (
    Factor("band", "trial"),
    Factor("node"),
    Factor("hour"),
    Factor("conc", "trial"),
)
OBSERVED = Columns.parse(
    "task=t,entry=m,band=b,passed=y,infra_error=err",
    {"node": "node", "hour": "hour", "conc": "conc", "batch": "batch"},
)


@pytest.fixture(scope="module")
def observed() -> Cells:
    return read_table(GOLDEN / "observed_trials.csv", OBSERVED)


@pytest.fixture(scope="module")
def rows(observed: Cells) -> dict[str, FactorRow]:
    found = attribute(observed, FACTORS, waves=["batch"], draws=199)
    return {row.factor: row for row in found.factors}


@pytest.mark.parametrize("factor", SHORT)
def test_a_component_and_its_interval_are_those_of_r(observed: Cells, factor: str) -> None:
    found = fit(absorb(observed, list(SHORT)))
    form = quadratic(found, factor)
    assert form is not None
    component, expected = phi(form, found.effects, found.same), R["phi"][SHORT[factor]]
    assert component.phi == pytest.approx(expected["phi"], rel=1e-9)
    assert component.p == pytest.approx(expected["p"], rel=1e-9)
    assert component.ci == pytest.approx((expected["lo"], expected["hi"]), rel=1e-6, abs=1e-12)


def test_in_a_balanced_grid_the_component_is_that_of_the_anova() -> None:
    columns = Columns.parse("task=t,entry=m,band=b,n=n,passes=s,infra_errors=err")
    grid = read_table(GOLDEN / "balanced_grid.csv", columns)
    anova = components(grid).finite
    found = fit(absorb(grid, ["band"]))
    form = quadratic(found, "band")
    assert form is not None
    assert form.of(found.effects) == pytest.approx(anova.plug_in["band"])
    # Its noise is all that the grid's interactions leave, not the cells' alone.
    noise = anova.plug_in["band"] - anova.corrected["band"]
    assert form.noise(found.same)[0] > noise


def test_a_declared_target_weighs_the_levels(observed: Cells) -> None:
    found = fit(absorb(observed, ["band"]))
    two = quadratic(found, "band", {"0": 1.0, "5": 1.0})
    one = quadratic(found, "band", {"3": 2.0})
    assert two is not None
    assert one is not None
    assert two.of(found.effects) == pytest.approx((found.effects[-1] / 2) ** 2)
    assert one.of(found.effects) == pytest.approx(0.0, abs=1e-15)
    with pytest.raises(DesignError, match="was not run"):
        quadratic(found, "band", {"9": 1.0})


def test_components_of_these_tasks_and_of_new_ones_differ_by_the_tasks_own(
    rows: dict[str, FactorRow],
) -> None:
    row = rows["band"]
    assert row.component_new.phi + row.by_task / 40 == pytest.approx(row.component.phi)
    assert row.component_new.ci.lo <= row.component_new.ci.hi


def test_an_observed_factor_is_an_association(rows: dict[str, FactorRow]) -> None:
    assert (rows["node"].role, rows["band"].role) == ("observed", "assigned")
    assert Flag.ASSOCIATION in rows["node"].flags
    assert Flag.ASSOCIATION not in rows["band"].flags


def test_what_never_changes_within_a_wave_is_tested_between_waves(
    rows: dict[str, FactorRow],
) -> None:
    hour = rows["hour"]
    assert (hour.waves, hour.component_new) == (24, None)
    assert Flag.ASSIGNMENT_LEVEL in hour.flags
    assert {level.df for level in hour.levels} == {6.0}  # four waves an hour: 8 - 2
    assert {level.df for level in rows["conc"].levels} == {39.0}
    assert rows["conc"].waves is None


def _waves(count: int, rng: np.random.Generator, shock: float = 0.0) -> Cells:
    """A factor set per wave: half of the waves at each level, tasks in every wave."""
    wave, task = np.indices((count, 12)).reshape(2, -1)
    p = np.clip(0.5 + shock * rng.normal(size=count)[wave], 0.05, 0.95)
    return Cells.of_counts(
        {"task": task, "entry": ["m"] * wave.size, "load": wave % 2, "wave": wave},
        n=[4] * wave.size,
        passed=rng.binomial(4, p),
    )


LOAD = Factor("load", "wave", "wave")


@pytest.mark.parametrize(("waves", "testable"), [(6, False), (8, True)])
def test_fewer_than_eight_waves_are_not_testable(waves: int, testable: bool) -> None:
    cells = _waves(waves, np.random.default_rng(0))
    (row,) = attribute(cells, [LOAD], draws=99).factors
    (level,) = row.levels
    assert (Flag.NOT_TESTABLE in row.flags) is not testable
    assert (level.p is not None) is testable
    assert level.se_assigned > 0.0
    assert Flag.ASSIGNMENT_LEVEL not in row.flags  # it was declared


def test_shocks_of_waves_do_not_pass_for_effects() -> None:
    rng = np.random.default_rng(4)
    between, within = [], []
    for _ in range(200):
        (row,) = attribute(_waves(8, rng, shock=0.08), [LOAD], draws=9).factors
        between.append(row.levels[0].p <= 0.05)
        within.append(row.levels[0].p_same <= 0.05)
    assert np.mean(between) < 0.09
    assert np.mean(within) > 0.15


def test_a_factor_set_per_wave_has_an_error_for_other_waves_and_other_tasks(
    observed: Cells,
) -> None:
    found = attribute(observed, [Factor("band", "trial"), Factor("conc", "wave", "batch")], draws=9)
    band, conc = found.factors
    fitted = fit(absorb(observed, ["band", "conc"], clusters=["batch"]))
    task, wave = (fitted.design.cells.codes[name] for name in ("task", "batch"))
    expected = np.sqrt(np.diag(two_way(fitted, task, wave).covariance)[fitted.design.of("conc")])
    assert [level.se_two_way for level in conc.levels] == pytest.approx(expected)
    assert [level.se_two_way for level in band.levels] == [None] * 5


def test_a_factor_that_is_another_in_disguise_gets_no_numbers() -> None:
    task, band = np.indices((6, 4)).reshape(2, -1)
    cells = Cells.of_counts(
        {"task": task, "entry": ["m"] * 24, "band": band, "node": band // 2},
        n=[5] * 24,
        passed=np.random.default_rng(1).integers(0, 6, 24),
    )
    found = attribute(cells, [Factor("band", "trial"), Factor("node")], draws=99)
    for row in found.factors:
        assert Flag.ALIASED in row.flags
        assert (row.component, row.alone, row.unique, row.lmg) == (None,) * 4
    node = found.factors[1]
    assert [(level.est, level.p) for level in node.levels] == [(None, None)]
    assert diagnose(cells, [Factor("band"), Factor("node")]).aliased == ("band", "node")


def test_shares_sum_to_what_all_factors_explain_and_are_averages_over_orders(
    observed: Cells,
) -> None:
    names = list(SHORT)
    found = fit(absorb(observed, names))
    shares = shapley(found, names)
    gram, moment = found.design.gram, found.design.gram @ found.effects

    def worth(group: tuple[str, ...]) -> float:
        i = [k for name in group for k in found.design.of(name)]
        if not i:
            return 0.0
        inverse = np.linalg.inv(gram[np.ix_(i, i)])
        noise = np.trace(inverse @ found.meat[np.ix_(i, i)])
        return float(moment[i] @ inverse @ moment[i] - noise) / found.design.trials

    for name in names:
        gains = [
            worth(order[: order.index(name) + 1]) - worth(order[: order.index(name)])
            for order in permutations(names)
        ]
        assert shares[name].lmg == pytest.approx(sum(gains) / factorial(4), abs=1e-15)
        assert shares[name].alone == pytest.approx(worth((name,)))
    assert sum(s.lmg for s in shares.values()) == pytest.approx(worth(tuple(names)))


def test_plug_in_shares_sum_to_the_explained_variance_within_strata(observed: Cells) -> None:
    found = fit(absorb(observed, list(SHORT)))
    shares = shapley(found, list(SHORT), corrected=False)
    explained = found.effects @ found.design.gram @ found.effects / found.design.trials
    assert sum(s.lmg for s in shares.values()) == pytest.approx(explained)
    assert min(s.lmg for s in shares.values()) > 0.0


def test_confounding_shows_in_alone_against_unique() -> None:
    rng = np.random.default_rng(3)
    task, band, node = np.indices((40, 2, 2)).reshape(3, -1)
    n = np.where(band == node, 45, 5)
    p = 0.3 + 0.3 * band
    cells = Cells.of_counts(
        {"task": task, "entry": ["m"] * task.size, "band": band, "node": node},
        n=n,
        passed=rng.binomial(n, p),
    )
    band_row, node_row = attribute(
        cells, [Factor("band", "trial"), Factor("node")], draws=99
    ).factors
    assert Flag.CONFOUNDED in node_row.flags
    assert node_row.alone > 10 * abs(node_row.unique)
    assert band_row.levels[0].est == pytest.approx(0.3, abs=0.05)
    assert node_row.levels[0].est == pytest.approx(0.0, abs=0.05)


def test_inflation_is_that_of_r(observed: Cells) -> None:
    found = diagnose(observed, FACTORS, waves=["batch"])
    assert found.gvif == pytest.approx(
        {name: R["all"]["gvif"][short] for name, short in SHORT.items()}, rel=1e-9
    )
    assert found.waves["hour"].waves == 24
    assert (found.overlap, found.inflated, found.dropped_strata) == (1.0, (), 0)
    design = absorb(observed, list(SHORT))
    assert gvif(design, "node", within_strata=True) < found.gvif["node"]


def test_overlap_is_the_share_of_strata_in_which_everything_varies() -> None:
    cells = Cells.of_counts(
        {
            "task": ["a", "a", "b", "b", "c", "c"],
            "entry": ["m"] * 6,
            "band": ["1", "2", "1", "2", "1", "1"],
            "node": ["x", "y", "x", "x", "x", "y"],
        },
        n=[4] * 6,
        passed=[1, 2, 3, 1, 2, 3],
    )
    found = diagnose(cells, [Factor("band"), Factor("node")])
    assert found.overlap == pytest.approx(1 / 3)
    assert found.overlap_by_factor == pytest.approx({"band": 2 / 3, "node": 2 / 3})


@pytest.mark.parametrize("text", ["load:assigned=wave", "load:assigned=wave:", "load:wave=x"])
def test_an_assignment_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(DesignError, match="=wave:COLUMN or =observed"):
        Factor.parse(text)


def test_a_factor_is_observed_unless_it_says_otherwise() -> None:
    assert Factor.parse("load") == Factor("load", "observed")
    assert Factor.parse("load:assigned=wave:batch") == Factor("load", "wave", "batch")
    assert Factor.parse("load:wave:batch") == Factor("load", "wave", "batch")
    assert Factor.parse("load:observed") == Factor.parse("load:assigned=observed") == Factor("load")
    with pytest.raises(DesignError, match="names the wave's column"):
        Factor("load", "trial", "batch")


def _numbers(value: object) -> list[float]:
    if is_dataclass(value):
        return [x for f in fields(value) for x in _numbers(getattr(value, f.name))]
    if isinstance(value, tuple):
        return [x for item in value for x in _numbers(item)]
    return [float(value)] if isinstance(value, int | float) else []


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 25), st.floats(0, 1))
def test_whatever_the_counts_no_number_is_nan_or_endless(seed: int, rows: int, p: float) -> None:
    rng = np.random.default_rng(seed)
    task, entry, band, node = rng.integers(0, [3, 2, 3, 2], (rows, 4)).T
    n = rng.integers(1, 4, rows)
    cells = Cells.of_counts(
        {"task": task, "entry": entry, "band": band, "node": node},
        n=n,
        passed=rng.binomial(n, p if p > 0.1 else round(p)),
    )
    try:
        found = attribute(cells, [Factor("band", "trial"), Factor("node")], draws=49)
    except InfranoiseError:
        return
    assert all(np.isfinite(x) for x in _numbers(found))


@settings(max_examples=15)
@given(st.permutations(range(6)))
def test_the_order_of_cells_does_not_matter(observed: Cells, order: list[int]) -> None:
    shuffled = observed.where(np.ones(len(observed), dtype=bool))
    kept = np.concatenate([np.arange(i, len(observed), 6) for i in order])
    moved = Cells(
        shuffled.levels,
        {name: codes[kept] for name, codes in shuffled.codes.items()},
        *(c[kept] for c in (observed.n, observed.passed, observed.infra)),
        *(c[kept] for c in (observed.reward_sum, observed.reward_sumsq)),
    )
    one, other = (fit(absorb(c, ["band", "node"])) for c in (observed, moved))
    assert one.effects == pytest.approx(other.effects, abs=1e-12)
    assert one.same == pytest.approx(other.same, abs=1e-14)
