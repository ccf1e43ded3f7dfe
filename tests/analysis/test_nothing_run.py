"""Every estimator on no trial at all, and without its reference: a number or a clear refusal."""

from collections.abc import Callable

import pytest

from infranoise.analysis import budget
from infranoise.analysis.aa import judge_aa
from infranoise.analysis.attribution import attribute
from infranoise.analysis.bands import bands
from infranoise.analysis.calibrate import calibrate
from infranoise.analysis.cells import Cells
from infranoise.analysis.components import components
from infranoise.analysis.contrasts import contrast
from infranoise.analysis.crosscheck import crosscheck
from infranoise.analysis.design_report import design_report
from infranoise.analysis.diagnosis import diagnose
from infranoise.analysis.factor import Factor
from infranoise.analysis.findings import findings
from infranoise.analysis.gaps import gaps
from infranoise.analysis.glmm import fit_glmm
from infranoise.analysis.heterogeneity import Heterogeneity, heterogeneity
from infranoise.analysis.pairs import pairs
from infranoise.analysis.shocks import run_shocks
from infranoise.analysis.split import split
from infranoise.analysis.strata import strata_by_level
from infranoise.analysis.trend import Trend, trend
from infranoise.models.errors import DesignError, SampleTooSmall

BAND = [Factor("band", "trial")]
LEVELS = {"task": ("x", "y"), "entry": ("a",), "band": ("1x", "2x")}


def counts(*rows: tuple[str, str, int, int], levels: dict[str, tuple[str, ...]] | None) -> Cells:
    """One entry's cells of (task, band, n, passed)."""
    return Cells.of_counts(
        {"task": [r[0] for r in rows], "entry": ["a" for _ in rows], "band": [r[1] for r in rows]},
        n=[r[2] for r in rows],
        passed=[r[3] for r in rows],
        levels=levels,
    )


NOTHING = {
    "nothing": counts(levels=None),
    "levels, but no trial": counts(levels=LEVELS),
    "rows of no trials": counts(("x", "1x", 0, 0), ("x", "2x", 0, 0), levels=None),
}
REFUSE: dict[str, Callable[[Cells], object]] = {
    "components": components,
    "crosscheck": crosscheck,
    "attribution": lambda cells: attribute(cells, BAND),
    "diagnosis": lambda cells: diagnose(cells, BAND),
    "design": lambda cells: design_report(cells, BAND, ()),
    "mixed model": fit_glmm,
    "sampling noise": budget.within,
    "variance of a trial": budget.trial_variance,
    "typical design": budget.typical_design,
    "gaps": gaps,
    "calibration": calibrate,
    "split": lambda cells: split(cells, "2x", "1x"),
    "pairs": lambda cells: pairs(cells, "2x", "1x"),
    "A/A": lambda cells: judge_aa(cells, arm="band"),
    "shocks": lambda cells: run_shocks(cells, "band"),
}


@pytest.mark.parametrize("estimator", REFUSE)
@pytest.mark.parametrize("cells", NOTHING.values(), ids=NOTHING)
def test_what_needs_a_trial_refuses_none(cells: Cells, estimator: str) -> None:
    with pytest.raises((SampleTooSmall, DesignError)):
        REFUSE[estimator](cells)


@pytest.mark.parametrize("cells", NOTHING.values(), ids=NOTHING)
def test_what_may_be_empty_is_empty(cells: Cells) -> None:
    assert trend(cells) == Trend()
    assert heterogeneity(cells) == Heterogeneity((), ())


def test_bands_that_wait_for_trials_are_flagged_and_no_bands_are_refused() -> None:
    assert [row.flags for row in bands(NOTHING["levels, but no trial"])] == [("no trials",)] * 2
    for ask in (bands, findings):
        with pytest.raises(SampleTooSmall, match="no trial"):
            ask(NOTHING["nothing"])  # type: ignore[operator]


def test_a_reference_that_was_not_run_is_named() -> None:
    cells = counts(("x", "2x", 3, 1), levels=LEVELS)
    with pytest.raises(SampleTooSmall, match="no trial of 1x"):
        crosscheck(cells, "1x")
    found = findings(cells)
    assert found.reference == "1x"
    assert found.crosscheck is None
    assert found.refused["crosscheck"].startswith("no trial of 1x has an outcome yet")


def test_a_lone_stratum_of_single_samples_has_a_difference_without_an_error() -> None:
    cells = counts(("x", "1x", 1, 0), ("x", "2x", 1, 1), ("y", "2x", 3, 1), levels=None)
    tables = strata_by_level(cells)
    found = contrast(tables["2x"], tables["1x"])
    assert (found.est, found.se_same, found.se_new) == (1.0, None, None)
    assert found.flags == ("one task", "single samples")


def test_single_samples_beside_a_stratum_at_one_level_borrow_their_noise() -> None:
    rows = [("x", "1x", 1, 0), ("x", "2x", 1, 1), ("y", "1x", 1, 1), ("y", "2x", 1, 1)]
    tables = strata_by_level(counts(*rows, ("z", "2x", 3, 1), levels=None))
    found = contrast(tables["2x"], tables["1x"])
    # Differences 1 and 0, each 1/2 from their mean, over one minus a weight of 1/2.
    assert found.est == 0.5
    assert found.se_same == pytest.approx((2 * 0.25 / 0.5) ** 0.5 / 2)
