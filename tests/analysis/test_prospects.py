"""What a plan can show: by the closed forms where there are some, and by waves where there are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.analysis.cells import Cells
from infranoise.analysis.measured import Measured, measure
from infranoise.analysis.parts import Asked
from infranoise.analysis.power import Design, contrast_power, equivalence_power
from infranoise.analysis.prospects import PlannedFactor, Prospect, prospects
from infranoise.analysis.waves import wave_power
from infranoise.models.errors import DesignError, SampleTooSmall

BAND = PlannedFactor("band", (("3x", "1x"), ("5x", "1x")), per_sample=1)
STUDY = Measured(within=0.095)


def one(factor: PlannedFactor, samples: int, noise: Measured = STUDY) -> Prospect:
    return prospects(89, samples, [factor], noise)[0]


@pytest.mark.parametrize(("samples", "points"), [(5, 5.789), (10, 4.093), (20, 2.894), (40, 2.047)])
def test_the_detectable_effect_of_bands_is_the_closed_form(samples: int, points: float) -> None:
    found = one(BAND, samples)
    assert 100 * (found.detectable_same or 0) == pytest.approx(points, abs=5e-4)
    assert found.detectable_new is None, "nobody measured how tasks differ"


def test_every_pair_of_every_factor_is_told() -> None:
    found = prospects(10, 5, [BAND, PlannedFactor("entry", (("a", "b"),), 6)], STUDY)
    assert [(p.factor, p.level, p.vs) for p in found] == [
        ("band", "3x", "1x"),
        ("band", "5x", "1x"),
        ("entry", "a", "b"),
    ]


@given(st.integers(1, 200), st.integers(1, 50), st.integers(1, 6), st.floats(0.01, 0.25))
def test_a_prospect_holds_what_it_promises(
    tasks: int, samples: int, per_sample: int, within: float
) -> None:
    factor = PlannedFactor("band", (("3x", "1x"),), per_sample)
    (found,) = prospects(tasks, samples, [factor], Measured(within=within), 0.03)
    design, trials = Design(tasks, within), samples * per_sample
    assert found.detectable_same is not None
    assert found.provable is not None
    assert contrast_power(found.detectable_same, design, trials) == pytest.approx(0.8, abs=1e-4)
    assert equivalence_power(found.provable, design, trials) == pytest.approx(0.8)
    enough = found.samples_needed * per_sample
    assert equivalence_power(0.03, design, enough) >= 0.8 - 1e-9
    fewer = enough - per_sample
    assert fewer == 0 or equivalence_power(0.03, design, fewer) < 0.8


def test_tasks_that_differ_in_the_effect_make_new_tasks_harder() -> None:
    found = one(BAND, 10, Measured(within=0.095, tau2={"band": 0.01}))
    assert found.detectable_same is not None
    assert found.detectable_new is not None
    se = np.sqrt(2 * 0.095 / 890 + 0.01 / 89)
    assert found.detectable_new == pytest.approx(2.801585 * se, rel=1e-5)


def test_a_factor_set_per_wave_is_sized_between_waves() -> None:
    waves = PlannedFactor("concurrency", (("8", "1"),), 1, trials_per_wave=500)
    found = one(waves, 8, Measured(within=0.1, shock=0.0003))
    assert found.unit == "wave"
    sd = np.sqrt(0.0003 + 0.1 / 500)
    power = wave_power(found.detectable_same or 0, 8, sd, levels=2, alpha=0.05)
    assert power == pytest.approx(0.8)


def test_fewer_than_eight_waves_test_nothing() -> None:
    waves = PlannedFactor("concurrency", (("8", "1"),), 1, trials_per_wave=500)
    found = one(waves, 3)
    assert (found.testable, found.detectable_same, found.provable) == (False, None, None)
    assert found.samples_needed >= 4


def test_shocks_so_large_that_no_rate_shows_through_detect_nothing() -> None:
    waves = PlannedFactor("concurrency", (("8", "1"),), 1, trials_per_wave=1)
    assert one(waves, 4, Measured(within=0.25, shock=0.25)).detectable_same is None


def test_a_plan_of_nothing_is_refused() -> None:
    for tasks, samples, margin in ((0, 5, 0.03), (5, 0, 0.03), (5, 5, 0.0)):
        with pytest.raises(DesignError, match="out of range"):
            prospects(tasks, samples, [BAND], STUDY, margin)


def _results(rng: np.random.Generator, spread: float, shock: float = 0.0) -> Cells:
    """60 tasks x 2 entries x 2 bands x 12 waves, 3 trials each."""
    task, entry, band, wave = np.indices((60, 2, 2, 12)).reshape(4, -1)
    rate = 0.5 + spread * rng.standard_normal(60)[task] * band
    rate = np.clip(rate + shock * rng.standard_normal(12)[wave], 0, 1)
    return Cells.of_counts(
        {"task": task, "entry": entry, "band": band, "wave": wave},
        n=np.full(task.size, 3),
        passed=rng.binomial(3, rate),
    )


def test_what_is_measured_is_what_is_there() -> None:
    cells = _results(np.random.default_rng(4), spread=0.15, shock=0.05)
    found = measure(cells, Asked("0", waves=("wave",)), "before")
    assert found.source == "before"
    assert found.within == pytest.approx(0.23, abs=0.02)
    assert found.tau2["band"] == pytest.approx(0.15**2, rel=0.5)
    assert found.tau2["entry"] == pytest.approx(0.0, abs=0.002)
    assert found.shock == pytest.approx(0.05**2, rel=0.9)
    assert not found.missing


def test_what_cannot_be_measured_is_said() -> None:
    cells = _results(np.random.default_rng(4), spread=0.1).select(entry="0", wave="0")
    found = measure(cells, Asked(waves=("wave",)))
    assert "entry" not in found.tau2
    assert found.shock is None
    assert set(found.missing) == {"entry", "waves"}


def test_results_without_noise_are_refused() -> None:
    cells = Cells.of_counts(
        {"task": ["a", "b"], "entry": ["e"] * 2, "band": ["1x"] * 2}, n=[5, 5], passed=[5, 0]
    )
    with pytest.raises(SampleTooSmall, match="ended alike"):
        measure(cells, Asked())
