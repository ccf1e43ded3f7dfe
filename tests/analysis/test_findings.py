"""The assembly of all findings, and their one JSON document."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from infranoise.analysis.cells import Cells
from infranoise.analysis.findings import findings
from infranoise.analysis.findings_json import to_json
from infranoise.analysis.parts import Asked
from infranoise.analysis.read_ledger import read_study
from infranoise.analysis.run_facts import known, run_facts
from infranoise.analysis.study_cells import study_cells
from infranoise.models.errors import DesignError

type MakeLedger = Callable[..., Engine]
SECTION_11 = (
    "bands", "trend", "components", "factors", "noise_budget", "ceiling", "gaps", "design",
    "crosscheck",
)  # fmt: skip


def grid(passed: list[int], infra: list[int], n: int = 4) -> Cells:
    """Two tasks by two entries by three bands."""
    keys = [(t, e, b) for t in "xy" for e in "ab" for b in ("1x", "2x", "3x")]
    return Cells.of_counts(
        {name: [key[k] for key in keys] for k, name in enumerate(("task", "entry", "band"))},
        n=[n] * 12,
        passed=passed,
        infra=infra,
    )


def numbers(value: Any) -> list[float]:
    """Every number in a document."""
    if isinstance(value, dict):
        return [x for item in value.values() for x in numbers(item)]
    if isinstance(value, list):
        return [x for item in value for x in numbers(item)]
    return [value] if isinstance(value, float) else []


@settings(max_examples=10)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=12, max_size=12))
def test_any_counts_give_a_document_without_nan(counts: list[tuple[int, int]]) -> None:
    cells = grid([p for p, _ in counts], [min(i, 4 - p) for p, i in counts])
    document = to_json(findings(cells))
    text = json.dumps(document, allow_nan=False)
    assert json.loads(text) == document
    assert all(math.isfinite(x) for x in numbers(document))


def test_the_document_has_the_names_of_the_specification() -> None:
    document: Any = to_json(findings(grid([2, 3, 4] * 4, [1, 0, 0] * 4)))
    assert set(SECTION_11) <= document.keys()
    assert {"band", "n", "passed", "infra_errors", "infra_rate", "score", "lift", "equivalence",
            "infra_lift", "split"} <= document["bands"][1].keys()  # fmt: skip
    assert {"vs", "est", "se_naive", "se_same", "se_new", "df_new", "p_naive", "p_same", "p_new",
            "ci_same", "ci_new", "tau2"} <= document["bands"][1]["lift"].keys()  # fmt: skip
    assert document["bands"][0]["infra_rate"].keys() == {"est", "lo", "hi"}
    assert len(document["bands"][1]["split"]["rescue"]) == 2
    assert {"finite", "super"} <= document["components"].keys()
    assert {"rule", "chosen", "per_ceiling"} <= document["ceiling"].keys()
    assert {"source", "sd_points", "share", "ci", "trial_share"} <= (
        document["noise_budget"][0].keys()
    )
    assert {"aliased", "gvif", "overlap", "waves", "mde"} <= document["design"].keys()
    assert {"stat", "p", "or"} <= document["crosscheck"]["cmh"].keys()


def test_a_part_that_the_counts_refuse_is_null_and_says_why() -> None:
    cells = Cells.of_counts(
        {"task": ["x", "y"], "entry": ["a", "a"], "band": ["1x", "1x"]}, n=[2, 2], passed=[1, 2]
    )
    document: Any = to_json(findings(cells))
    assert document["gaps"] is None
    assert document["ceiling"] is None
    assert document["refused"]["gaps"] == "a gap needs two entries with trials"
    assert document["bands"][0]["score"]["strict"]["est"] == 0.75


def test_the_reference_is_the_first_band_unless_another_is_asked_for() -> None:
    cells = grid([1, 2, 3] * 4, [1, 0, 0] * 4)
    assert findings(cells).reference == "1x"
    other = findings(cells, Asked(reference="3x"))
    assert [row.band for row in other.bands if row.lift] == ["1x", "2x"]
    with pytest.raises(DesignError, match="no level '9x'"):
        findings(cells, Asked(reference="9x"))


def test_entries_that_swap_places_between_bands_are_named() -> None:
    swap = grid([0, 2, 4, 2, 2, 2] * 2, [0] * 12)
    (change,) = findings(swap).rank_changes
    assert (change.a, change.b, change.a_leads_in, change.b_leads_in) == ("a", "b", "3x", "1x")
    assert change.lead_of_a == change.lead_of_b == 0.5
    tied = grid([2, 2, 2, 2, 2, 4] * 2, [0] * 12)
    assert findings(tied).rank_changes == ()
    assert {r.rank for r in findings(tied).ranks if r.band == "1x"} == {1}


def test_a_ledgers_factors_are_asked_at_the_level_at_which_they_were_set(
    make_ledger: MakeLedger,
) -> None:
    study = read_study(make_ledger(factors={"concurrency": [1, 2], "time_limit": [1.0, 2.0]}))
    cells, asked = study_cells(study)
    assert {f.name: (f.assignment, f.wave) for f in asked.factors} == {
        "concurrency": ("wave", "wave"),
        "time_limit": ("trial", None),
    }
    assert len(cells.levels["wave"]) == 4
    assert int(cells.n.sum()) == study.planned


def test_cells_from_attempts_are_those_that_the_ledger_counted(make_ledger: MakeLedger) -> None:
    study = read_study(make_ledger())
    cells, _ = study_cells(study)
    names = ("task", "entry", "band")
    mine, kept = cells.by(*names), study.cells.by(*names)
    assert mine.levels == kept.levels
    for column in ("n", "passed", "infra", "reward_sum", "reward_sumsq"):
        assert getattr(mine, column).tolist() == getattr(kept, column).tolist()


def test_an_observed_column_of_the_attempts_can_be_asked_for(make_ledger: MakeLedger) -> None:
    from infranoise.analysis.factor import Factor

    study = read_study(make_ledger())
    _, asked = study_cells(study, more=[Factor("co_running_peak")])
    assert [f.name for f in asked.factors] == ["co_running_peak"]
    with pytest.raises(DesignError, match="no column 'moon'"):
        study_cells(study, more=[Factor("moon")])


@pytest.mark.parametrize("stop_after", [0, 1, 11])
def test_a_run_at_any_moment_gives_findings(make_ledger: MakeLedger, stop_after: int) -> None:
    study = read_study(make_ledger(stop_after=stop_after))
    run = run_facts(study)
    found = findings(*study_cells(study), known(run))
    json.dumps(to_json(found, run), allow_nan=False)
    assert found.opening[0].startswith(("So far", "None of the 36 planned"))


def test_one_bands_budget_is_the_noise_of_sampling() -> None:
    cells = grid([2, 3, 4] * 4, [1, 0, 0] * 4).select(band="1x")
    document: Any = to_json(findings(cells))
    assert document["factors"] is None
    assert [(line["source"], line["share"]) for line in document["noise_budget"]] == [
        ("sampling", 1.0)
    ]


@pytest.mark.parametrize("passed", [0, 4])
def test_trials_that_all_ended_alike_have_no_noise_from_anywhere(passed: int) -> None:
    document: Any = to_json(findings(grid([passed] * 12, [0] * 12)))
    for line in document["noise_budget"]:
        assert (line["variance"], line["share"]) == (0.0, 0.0)
    assert [level["est"] for row in document["factors"] for level in row["levels"]] == [0.0, 0.0]
