"""Specification of `compare`: the difference, its errors, its verdict, the gate, what it needs."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from infranoise.analysis.cells import Cells
from infranoise.analysis.comparison import compare
from infranoise.analysis.comparison_words import (
    gate_sentence,
    missing_sentence,
    settling_sentence,
    threshold_sentence,
    verdict_sentence,
)
from infranoise.analysis.configuration import ITEMS, Configuration, compared, is_matched
from infranoise.analysis.gate import Decision, Limit
from infranoise.analysis.side import Side
from infranoise.analysis.unmatched import Unmatched
from infranoise.analysis.words import MINUS
from infranoise.models.errors import DesignError, SampleTooSmall

KNOWN = Configuration({name: ("x",) for name in ITEMS}, {"t0": "hash"})
TASKS = [f"t{k}" for k in range(40)]


def side(
    name: str,
    passed: object,
    *,
    n: object = 10,
    infra: object = 0,
    tasks: list[str] | None = None,
    entry: str | list[str] = "e",
    band: str | list[str] = "1x",
    configuration: Configuration = KNOWN,
) -> Side:
    """A side of one cell per task unless labels say otherwise."""
    named = tasks or TASKS
    full = np.ones(len(named), dtype=int)
    cells = Cells.of_counts(
        {
            "task": named,
            "entry": [entry] * len(named) if isinstance(entry, str) else entry,
            "band": [band] * len(named) if isinstance(band, str) else band,
        },
        n=full * np.asarray(n),
        passed=full * np.asarray(passed),
        infra=full * np.asarray(infra),
    )
    return Side(name, cells, configuration)


def mixed(share: float, seed: int, n: int = 10) -> np.ndarray:  # type: ignore[type-arg]
    """Passes per task at differing difficulties around a share."""
    rng = np.random.default_rng(seed)
    p = np.clip(share + rng.normal(0, 0.2, len(TASKS)), 0.02, 0.98)
    return rng.binomial(n, p)


def test_the_difference_is_b_minus_a_within_tasks() -> None:
    found = compare(side("a", 4), side("b", 5))
    assert found.difference.est == pytest.approx(0.1)
    # sqrt(sum of p(1-p)/(n-1)) / T, with both sides
    expected = np.sqrt(40 * (0.4 * 0.6 + 0.25) / 9) / 40
    assert found.difference.se_same == pytest.approx(expected)
    assert found.credibility.word == "CREDIBLE"
    assert verdict_sentence(found).startswith("b scores 10.0 points above a on the 40 tasks")


DIFFERENT = replace(KNOWN, items={**KNOWN.items, "enforcement": ("y",)})
UNTOLD = replace(KNOWN, items={**KNOWN.items, "enforcement": ()})
OTHER_DATE = replace(KNOWN, items={**KNOWN.items, "dates": ("y",)})
BUDGET = Unmatched(phi=0.02**2, spread=0.06)

# Passes of b (a has 4 of 10), the configuration of b, what is known of noise -> the verdict.
VERDICTS: dict[str, tuple[int, Configuration, Unmatched | None, str]] = {
    "alike": (4, KNOWN, None, "NOISE"),
    "matched": (5, KNOWN, None, "CREDIBLE"),
    "configured otherwise": (5, DIFFERENT, None, "ONLY IF MATCHED"),
    "not recorded": (5, UNTOLD, None, "ONLY IF MATCHED"),
    "another date decides nothing": (5, OTHER_DATE, None, "CREDIBLE"),
    "not recorded, but beyond what configurations are worth": (6, UNTOLD, BUDGET, "CREDIBLE"),
    "not recorded, and within it": (5, UNTOLD, Unmatched(0.05**2, 0.2), "ONLY IF MATCHED"),
    "configured otherwise, and alike": (4, DIFFERENT, BUDGET, "NOISE"),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_the_verdict_knows_what_it_does_not_know(case: str) -> None:
    passed, configuration, noise, word = VERDICTS[case]
    found = compare(side("a", 4), side("b", passed, configuration=configuration), noise=noise)
    assert found.credibility.word == word


def test_the_user_may_vouch_for_the_configurations() -> None:
    found = compare(side("a", 4), side("b", 5, configuration=UNTOLD), matched=True)
    assert found.credibility.word == "CREDIBLE"


def test_identical_entries_are_noise_at_the_stated_rate() -> None:
    """95 % of A/A comparisons say NOISE; 300 of them lie within 99.9 % binomial limits of that."""
    rng = np.random.default_rng(20260205)
    p = rng.beta(0.6, 0.6, len(TASKS))
    credible = sum(
        compare(
            side("a", rng.binomial(10, p)), side("b", rng.binomial(10, p))
        ).credibility.word != "NOISE"
        for _ in range(300)
    )  # fmt: skip
    assert 4 <= credible <= 29


def test_missing_outcomes_bound_the_difference() -> None:
    found = compare(side("a", 4, infra=1), side("b", 4, infra=3))
    assert found.difference.est == 0.0
    assert found.bounds == pytest.approx((-0.1, 0.3))
    assert found.excluded is not None
    assert found.excluded.est == pytest.approx(4 / 7 - 4 / 9)
    assert found.bounds_ci is not None
    assert found.bounds_ci.lo < -0.1 < 0.3 < found.bounds_ci.hi
    assert f"between {MINUS}10.0 and +30.0 whatever they hid" in missing_sentence(found)


def test_only_tasks_that_both_ran_are_compared() -> None:
    a, b = side("a", 4, tasks=TASKS[:30]), side("b", 4, tasks=TASKS[10:])
    found = compare(a, b)
    assert (found.tasks, len(found.only_a), len(found.only_b)) == (20, 10, 10)
    with pytest.raises(SampleTooSmall, match="share no task"):
        compare(side("a", 4, tasks=TASKS[:5]), side("b", 4, tasks=TASKS[5:]))


def test_bands_and_entries_that_both_ran_are_strata() -> None:
    tasks, bands = [*TASKS, *TASKS], ["1x"] * 40 + ["3x"] * 40
    # b ran more in the band in which everybody scores higher: pooled, it would look better.
    a = side("a", [2] * 40 + [8] * 40, tasks=tasks, band=bands)
    b = side("b", [2] * 40 + [16] * 40, n=[10] * 40 + [20] * 40, tasks=tasks, band=bands)
    found = compare(a, b)
    assert found.difference.est == pytest.approx(0.0)
    assert found.bands == ("1x", "3x")
    two = compare(
        side("a", 4, tasks=tasks, entry=["e"] * 40 + ["f"] * 40),
        side("b", 5, tasks=tasks, entry=["e"] * 40 + ["g"] * 40),
    )
    assert two.entries == ("e",)
    with pytest.raises(DesignError, match="name one of each"):
        compare(side("a", 4, tasks=tasks, entry=["e"] * 40 + ["f"] * 40), side("b", 4, entry="h"))


# Passes and infra errors of b (a: 5 of 10 and 0), points it may drop -> decision, words of why.
GATES: dict[str, tuple[object, object, float, Decision, str]] = {
    "as good": (5, 0, 10, "GO", "holds whatever"),
    "far worse": (1, 0, 10, "NO-GO", "holds whatever"),
    "as good, but the limit is tight": (5, 0, 1, "INCONCLUSIVE", "too few samples"),
    "infra errors alone make it look worse": (4, 2, 8, "INCONCLUSIVE", "infra errors decide"),
    "worse, but infra errors may have hidden passes": (2, 4, 8, "INCONCLUSIVE", "infra errors"),
    "worse whatever they hid": (0, 2, 8, "NO-GO", "holds whatever"),
    "good whatever they hid": (6, 1, 10, "GO", "holds whatever"),
}


@pytest.mark.parametrize("case", GATES)
def test_the_gate(case: str) -> None:
    passed, infra, drop, decision, why = GATES[case]
    found = compare(side("a", 5), side("b", passed, infra=infra), limit=Limit(drop / 100))
    assert found.gate is not None
    assert (found.gate.decision, why in found.gate.reason) == (decision, True)
    assert gate_sentence(found).startswith(decision)


def test_tasks_that_one_side_lost_do_not_go_unnoticed() -> None:
    short = side("b", 6, tasks=TASKS[:39])
    found = compare(side("a", 5), short, limit=Limit(0.1))
    assert found.gate is not None
    assert found.gate.decision == "INCONCLUSIVE"
    assert "1 task ran on one side only" in found.gate.reason
    meant = compare(side("a", 5), short, limit=Limit(0.1, common_tasks=True))
    assert meant.gate is not None
    assert meant.gate.decision == "GO"


def test_trials_that_never_ended_do_not_go_unnoticed() -> None:
    cut_off = replace(side("b", 6), unended=7)
    found = compare(side("a", 5), cut_off, limit=Limit(0.1))
    assert found.gate is not None
    assert (found.gate.decision, found.b.unended) == ("INCONCLUSIVE", 7)
    assert "7 trials without an outcome" in found.gate.reason
    worse = compare(side("a", 5), replace(side("b", 1), unended=7), limit=Limit(0.1))
    assert worse.gate is not None
    assert worse.gate.decision == "NO-GO"


def test_under_the_limits_that_count_an_infra_error_is_a_failure() -> None:
    a, b = side("a", 5), side("b", 2, infra=4)
    asked = compare(a, b, limit=Limit(0.08))
    meant = compare(a, b, limit=Limit(0.08, infra_errors="failed"))
    assert asked.gate is not None
    assert meant.gate is not None
    assert (asked.gate.decision, meant.gate.decision) == ("INCONCLUSIVE", "NO-GO")
    assert "infra errors count as failures" in gate_sentence(meant)
    assert "whatever infra errors hid" not in gate_sentence(meant)


def test_a_gate_on_new_tasks_asks_for_more() -> None:
    a, b = side("a", mixed(0.5, 1)), side("b", mixed(0.5, 2))
    same = compare(a, b, limit=Limit(0.08))
    new = compare(a, b, limit=Limit(0.08, "new"))
    assert same.gate is not None
    assert new.gate is not None
    assert new.gate.low is not None
    assert same.gate.low is not None
    assert new.gate.low < same.gate.low


def test_what_would_settle_it_settles_it() -> None:
    found = compare(side("a", 4), side("b", 4.2 * np.ones(40) * 10 // 10 + [0, 1] * 20))
    needed = found.settling.to_detect
    assert needed is not None
    assert needed > 10
    factor = needed / 10
    se = found.difference.se_same
    assert se is not None
    assert found.difference.est / (se / factor**0.5) == pytest.approx(2.8, rel=0.02)
    assert "needs" in settling_sentence(found)


def test_equality_that_can_be_proven_says_with_how_many() -> None:
    found = compare(side("a", 4), side("b", 4), margin=0.02)
    assert found.settling.to_detect is None
    assert found.settling.to_prove_equal is not None
    assert found.settling.to_prove_equal > 10


def test_counts_without_noise_give_no_verdict() -> None:
    found = compare(side("a", 10), side("b", 10))
    assert found.credibility.word == "UNKNOWN"
    assert "No threshold can be told" in threshold_sentence(found)


STATES = [(("x",), ("x",), "same"), (("x",), ("y",), "differs"), (("x",), (), "unrecorded")]


@pytest.mark.parametrize(("mine", "theirs", "state"), STATES)
def test_an_item_is_the_same_different_or_unrecorded(
    mine: tuple[str, ...], theirs: tuple[str, ...], state: str
) -> None:
    def with_network(values: tuple[str, ...]) -> Configuration:
        return replace(KNOWN, items={**KNOWN.items, "network": values})

    rows = {row.item: row for row in compared(with_network(mine), with_network(theirs))}
    assert rows["network"].state == state
    assert is_matched(tuple(rows.values())) == (state == "same")


CONTENTS: list[tuple[Mapping[str, str], Mapping[str, str], str]] = [
    ({"t": "1"}, {"t": "1", "u": "2"}, "same"),
    ({"t": "1"}, {"t": "2"}, "differs"),
    ({"t": "1"}, {"t": ""}, "unrecorded"),
]


@pytest.mark.parametrize(("mine", "theirs", "state"), CONTENTS)
def test_tasks_of_one_name_may_differ_in_content(
    mine: Mapping[str, str], theirs: Mapping[str, str], state: str
) -> None:
    rows = compared(replace(KNOWN, tasks=mine), replace(KNOWN, tasks=theirs))
    assert rows[-1].state == state
