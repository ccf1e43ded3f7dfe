"""The ceiling to pin."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.calibrate import Calibration, calibrate
from infranoise.analysis.cells import Cells
from infranoise.models.errors import DesignError

BANDS = ("1x", "2x", "3x", "uncapped")


def _cells(passed: Sequence[float], infra: Sequence[float], n: int = 200, tasks: int = 20) -> Cells:
    """Every task alike, `n` trials a cell; rates by band."""
    rows = [
        (str(t), band, round(n * p), round(n * e))
        for t in range(tasks)
        for band, p, e in zip(BANDS, passed, infra, strict=False)
    ]
    task, band, hits, errors = zip(*rows, strict=True)
    return Cells.of_counts(
        {"task": task, "entry": ["e"] * len(rows), "band": band},
        n=[n] * len(rows),
        passed=hits,
        infra=errors,
        levels={"band": [b for b in BANDS if b in band]},
    )


def _ceiling(found: Calibration, band: str) -> dict[str, object]:
    (row,) = (c for c in found.per_ceiling if c.band == band)
    return {name: getattr(row, name) for name in row.__slots__}


def test_the_smallest_ceiling_that_shows_both_is_chosen() -> None:
    found = calibrate(_cells([0.42, 0.425, 0.43, 0.48], [0.06, 0.04, 0.02, 0.005]))
    assert found.floor == "1x"
    assert found.chosen == "3x"
    assert [c.cuts_errors for c in found.per_ceiling] == [False, True, True]
    assert [c.equivalent for c in found.per_ceiling] == [True, True, False]
    assert _ceiling(found, "3x")["needed_trials"] == 0


def test_errors_are_read_from_the_largest_ceiling_down() -> None:
    """Below a ceiling that is not shown to cut errors, none counts as shown."""
    found = calibrate(_cells([0.42, 0.42, 0.42, 0.42], [0.06, 0.02, 0.01, 0.05]))
    assert found.chosen is None
    assert [c.cuts_errors for c in found.per_ceiling] == [False, False, False]
    row = _ceiling(found, "2x")
    assert row["cuts_errors_p"] < 0.05  # type: ignore[operator]
    assert "sequence" in str(row["obstacle"])


def test_equivalence_is_read_from_the_smallest_ceiling_up() -> None:
    found = calibrate(_cells([0.42, 0.47, 0.42, 0.42], [0.06, 0.02, 0.01, 0.005]))
    assert [c.equivalent for c in found.per_ceiling] == [False, False, False]
    assert found.chosen is None


def test_the_smallest_margin_is_printed_whatever_the_verdict() -> None:
    found = calibrate(_cells([0.42, 0.47, 0.42, 0.48], [0.06, 0.02, 0.01, 0.005]))
    for row in found.per_ceiling:
        assert row.smallest_margin is not None
        assert row.smallest_margin > abs(row.lift)


def test_the_smallest_margin_is_what_would_have_passed() -> None:
    cells = _cells([0.42, 0.44], [0.06, 0.02], n=50)
    (row,) = calibrate(cells, margin=0.01).per_ceiling
    assert row.smallest_margin is not None
    assert calibrate(cells, margin=row.smallest_margin * 1.001).chosen == "2x"
    assert calibrate(cells, margin=row.smallest_margin * 0.999).chosen is None


def test_the_trials_still_needed_are_roughly_enough() -> None:
    few = calibrate(_cells([0.42, 0.43], [0.06, 0.02], n=50, tasks=10))
    (row,) = few.per_ceiling
    assert few.chosen is None
    assert row.needed_trials is not None
    more = 50 + row.needed_trials // 10
    (then,) = calibrate(_cells([0.42, 0.43], [0.06, 0.02], n=more, tasks=10)).per_ceiling
    assert then.cuts_errors_p is not None
    assert then.equivalent_p is not None
    assert max(then.cuts_errors_p, then.equivalent_p) < 0.01


OBSTACLES = {
    "a lift outside the margin": ([0.42, 0.50], [0.06, 0.02], "not inside the margin"),
    "errors that are not cut": ([0.42, 0.42], [0.06, 0.05], "not below the asked share"),
    "no spread at all": ([1.0, 1.0], [0.0, 0.0], "no spread"),
}


@pytest.mark.parametrize("case", OBSTACLES)
def test_what_no_number_of_trials_can_show_is_named(case: str) -> None:
    passed, infra, obstacle = OBSTACLES[case]
    (row,) = calibrate(_cells(passed, infra)).per_ceiling
    assert row.needed_trials is None
    assert obstacle in row.obstacle


def test_new_tasks_ask_for_more_than_these_tasks() -> None:
    rows = [
        (str(t), b, 20 + (10 if t % 2 else -10) * (b == "2x")) for t in range(20) for b in BANDS[:2]
    ]
    task, band, hits = zip(*rows, strict=True)
    cells = Cells.of_counts(
        {"task": task, "entry": ["e"] * 40, "band": band},
        n=[50] * 40,
        passed=hits,
        infra=[8, 1] * 20,
    )
    same, new = (calibrate(cells, target=target, margin=0.07) for target in ("same", "new"))
    assert same.per_ceiling[0].equivalent_p < new.per_ceiling[0].equivalent_p  # type: ignore[operator]
    assert "add tasks" in new.per_ceiling[0].obstacle


def test_kills_that_empty_whole_cells_still_have_an_error() -> None:
    """Half the tasks are always killed at the floor and never above: no spread within cells."""
    rows = [(str(t), band) for t in range(10) for band in BANDS[:2]]
    infra = [20 if t % 2 and band == "1x" else 0 for t, band in ((int(t), b) for t, b in rows)]
    cells = Cells.of_counts(
        {"task": [t for t, _ in rows], "entry": ["e"] * 20, "band": [b for _, b in rows]},
        n=[20] * 20,
        passed=[0] * 20,
        infra=infra,
    )
    (row,) = calibrate(cells).per_ceiling
    assert row.cuts_errors
    assert row.infra_rate == 0.0


counts = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=3),
    min_size=1,
    max_size=5,
)


@given(counts)
@settings(max_examples=60)
def test_any_counts_give_numbers_or_reasons(drawn: list[list[tuple[int, int]]]) -> None:
    rows = [(str(t), b, min(p, 4 - e), e) for t, task in enumerate(drawn)
            for b, (p, e) in zip(BANDS, task, strict=False)]  # fmt: skip
    task, band, passed, infra = zip(*rows, strict=True)
    found = calibrate(
        Cells.of_counts(
            {"task": task, "entry": ["e"] * len(rows), "band": band},
            n=[4] * len(rows),
            passed=passed,
            infra=infra,
        )
    )
    for row in found.per_ceiling:
        values = (row.lift, row.cuts_errors_p, row.equivalent_p, row.smallest_margin)
        assert all(v is None or np.isfinite(v) for v in values)
        assert (row.needed_trials is not None) or row.obstacle
        if found.chosen == row.band:
            assert row.cuts_errors
            assert row.equivalent


def test_a_calibration_that_cannot_be_made_is_refused() -> None:
    cells = _cells([0.42, 0.43], [0.06, 0.02])
    with pytest.raises(DesignError, match="margin"):
        calibrate(cells, margin=0.0)
    with pytest.raises(DesignError, match="rho"):
        calibrate(cells, rho=1.5)
    with pytest.raises(DesignError, match="no trials at the floor"):
        calibrate(cells, floor="9x")
    with pytest.raises(DesignError, match="no band above"):
        calibrate(cells, floor="2x")
