"""Other methods' answers to the same question."""

import csv
from pathlib import Path

import pytest

from infranoise.analysis.cells import Cells
from infranoise.analysis.crosscheck import Answer, crosscheck
from infranoise.models.errors import DesignError, SampleTooSmall

GOLDEN = Path(__file__).parents[1] / "golden"


def _cells(name: str) -> Cells:
    with (GOLDEN / f"mixed_{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    return Cells.of_counts(
        {factor: [row[factor] for row in rows] for factor in ("task", "entry", "band")},
        n=[int(row["n"]) for row in rows],
        passed=[int(row["passed"]) for row in rows],
    )


def test_every_band_is_checked_against_the_reference() -> None:
    found = crosscheck(_cells("balanced"))
    assert found.vs == "0"
    assert set(found.permutation_p) == set(found.cmh) == set(found.agree) == {"1", "2", "3"}
    assert found.glmm is not None
    assert set(found.glmm.pa_lift) == {"1", "2", "3"}
    assert all(found.agree.values())
    assert found.conditional_joint is not None
    for row in found.conditional_joint.levels:
        alone = found.conditional[row.level]
        assert alone is not None
        assert alone.log_odds == pytest.approx(row.log_odds, abs=0.2)
        assert found.exact_p[row.level] == pytest.approx(found.permutation_p[row.level], abs=0.03)
    assert found.sentences["2"].startswith("2 over 0: the methods agree (contrast +9.2 points")


def test_any_band_can_be_the_reference() -> None:
    forth, back = crosscheck(_cells("balanced")), crosscheck(_cells("balanced"), "1")
    assert back.cmh["0"].stat == pytest.approx(forth.cmh["1"].stat)
    assert back.permutation_p["0"] == pytest.approx(forth.permutation_p["1"], abs=0.01)


DISAGREEMENTS = {
    "the same finding": (0.02, 0.01, False),
    "the same silence": (0.02, 0.30, False),
    "another decision": (0.02, 0.06, True),
    "another sign": (-0.02, 0.01, True),
    "no p-value finds nothing": (0.02, None, True),
}


@pytest.mark.parametrize("case", DISAGREEMENTS)
def test_methods_differ_by_sign_or_by_decision(case: str) -> None:
    est, p, differs = DISAGREEMENTS[case]
    primary = Answer("contrast", 0.02, 0.30 if case == "the same silence" else 0.04)
    assert Answer("permutation", est, p).differs(primary, 0.05) == differs


def test_a_lift_of_nothing_has_no_sign() -> None:
    assert not Answer("mixed model", -1e-12, 0.9).differs(Answer("contrast", 0.01, 0.8), 0.05)


def test_a_model_dependent_lift_is_said_in_words() -> None:
    """Few trials in many strata: the contrast is just significant, the shuffled labels are not."""
    tasks = [str(t) for t in range(8)]
    cells = Cells.of_counts(
        {"task": tasks * 2, "entry": ["e"] * 16, "band": ["1x"] * 8 + ["3x"] * 8},
        n=[3] * 16,
        passed=[1, 1, 1, 1, 0, 2, 1, 1, 2, 2, 2, 2, 0, 3, 1, 3],
    )
    found = crosscheck(cells)
    assert not found.agree["3x"]
    assert "is model-dependent: permutation disagrees" in found.sentences["3x"]


def test_without_a_finite_mixed_model_the_shuffled_test_decides() -> None:
    cells = Cells.of_counts(
        {"task": list("sstt"), "entry": ["e"] * 4, "band": ["1x", "3x"] * 2},
        n=[6] * 4,
        passed=[1, 6, 2, 6],
    )
    found = crosscheck(cells)
    assert found.glmm is None
    assert "band 3x: 12 of 12 trials passed" in found.refused
    assert found.agree["3x"]


def test_bands_that_share_no_stratum_are_left_out() -> None:
    cells = Cells.of_counts(
        {"task": list("sstt"), "entry": ["e"] * 4, "band": ["1x", "3x", "1x", "5x"]},
        n=[6] * 4,
        passed=[1, 3, 2, 5],
    )
    assert set(crosscheck(cells).agree) == {"3x", "5x"}
    with pytest.raises(SampleTooSmall, match="nothing to check"):
        crosscheck(cells.select(task="s", band="1x"))


def test_fractional_rewards_have_no_tables() -> None:
    cells = Cells.of_counts(
        {"task": ["s", "s"], "entry": ["e", "e"], "band": ["1x", "3x"]},
        n=[4, 4],
        passed=[1, 1],
        reward_sum=[1.5, 2.0],
        reward_sumsq=[1.25, 1.5],
    )
    with pytest.raises(DesignError, match="rewards of 0 and 1"):
        crosscheck(cells)
