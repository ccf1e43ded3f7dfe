"""Two identical arms must look alike."""

import numpy as np
import pytest

from infranoise.analysis.aa import OVERDISPERSION, judge_aa
from infranoise.analysis.cells import Cells
from infranoise.models.errors import DesignError


def _arms(rng: np.random.Generator, lift: float = 0.0, shock: float = 0.0) -> Cells:
    """20 tasks x 2 nodes x 6 rounds x 2 arms; one trial each."""
    task, node, rounds, arm = np.indices((20, 2, 6, 2)).reshape(4, -1)
    rate = rng.uniform(0.2, 0.8, 20)[task] + lift * arm
    rate = np.clip(rate + shock * rng.standard_normal(6)[rounds], 0, 1)
    passed = rng.binomial(1, rate)
    infra = rng.binomial(1, 0.05, task.size) * (1 - passed)
    return Cells.of_counts(
        {"task": task, "entry": ["e"] * task.size, "node": node, "round": rounds, "arm": arm},
        n=np.ones(task.size),
        passed=passed,
        infra=infra,
    )


def test_a_sound_instrument_passes_and_says_so() -> None:
    found = judge_aa(_arms(np.random.default_rng(1)), run="round")
    assert found.passes
    assert found.arms == ("0", "1")
    assert [t.what for t in found.tests] == [
        "score",
        "infra errors",
        "score at node 0",
        "score at node 1",
        OVERDISPERSION,
    ]
    assert "The instrument passes: " in found.sentence


def test_sound_instruments_pass_about_as_often_as_promised() -> None:
    rng = np.random.default_rng(8)
    found = [judge_aa(_arms(rng), run="round") for _ in range(120)]
    assert np.mean([f.passes for f in found]) >= 0.88
    assert np.mean([f.false_alarm_rate for f in found]) == pytest.approx(0.05, abs=0.03)


def test_arms_that_differ_do_not_pass() -> None:
    found = judge_aa(_arms(np.random.default_rng(1), lift=0.3))
    assert not found.passes
    assert found.tests[0].alarm
    assert "does not pass" in found.sentence


def test_runs_that_share_shocks_do_not_pass() -> None:
    found = judge_aa(_arms(np.random.default_rng(1), shock=0.2), run="round")
    assert found.shocks is not None
    assert found.tests[-1].what == OVERDISPERSION
    assert found.tests[-1].alarm
    assert not found.passes


def test_arms_without_any_spread_are_silent() -> None:
    cells = Cells.of_counts(
        {"task": ["a", "a"], "entry": ["e", "e"], "arm": ["x", "y"]}, n=[5, 5], passed=[5, 5]
    )
    found = judge_aa(cells)
    assert found.passes
    assert found.false_alarms == 0
    assert [t.p for t in found.tests] == [None, None]


def test_anything_but_two_arms_is_refused() -> None:
    cells = _arms(np.random.default_rng(1))
    with pytest.raises(DesignError, match="node has 1 levels"):
        judge_aa(cells.select(node="0"), arm="node")
    with pytest.raises(DesignError, match="no factor 'branch'"):
        judge_aa(cells, arm="branch")
    with pytest.raises(DesignError, match="alpha"):
        judge_aa(cells, alpha=0.0)
