"""Specification of the band to pin: in order of ceilings, and as TOML that is read back."""

import pytest

from infranoise.analysis.calibrate import calibrate
from infranoise.analysis.cells import Cells
from infranoise.analysis.pin import ascending, pin_toml, pinned
from infranoise.analysis.render.pin_text import refusal
from infranoise.models.band import Band, Share
from infranoise.models.experiment_file import parse_experiment

TASKS = [f"t{k}" for k in range(60)]
STATED = (
    Band.shorthand("1x"),
    Band(name="roomy", memory=Share(ceiling=3.0), cpu=Share(ceiling=2.0), oom_scope="pod"),
    Band.shorthand("uncapped"),
)


def cells(*bands: tuple[str, int, int]) -> Cells:
    """Bands with (passes, infra errors) of 100 per task."""
    rows = [(task, name, passed, infra) for name, passed, infra in bands for task in TASKS]
    tasks, names, passes, errors = map(list, zip(*rows, strict=True))
    return Cells.of_counts(
        {"task": tasks, "entry": ["e"] * len(rows), "band": names},
        n=[100] * len(rows),
        passed=passes,
        infra=errors,
        levels={"band": [name for name, _, _ in bands]},
    )


QUALIFIES = (("1x", 40, 10), ("3x", 41, 2), ("uncapped", 46, 1))


def test_the_chosen_band_is_toml_that_an_experiment_takes() -> None:
    found = calibrate(ascending(cells(*QUALIFIES)))
    band = pinned(found)
    assert band == Band.shorthand("3x")
    text = pin_toml(found, band)
    assert "infra errors 2.0 %" in text
    assert max(map(len, text.splitlines())) < 80  # or a terminal breaks it, and nobody can paste it
    read = parse_experiment(f'tasks = ["t"]\n{text}', where="here", default_name="x")
    assert read.bands == (band,)


def test_a_band_of_the_experiment_keeps_all_it_enforced() -> None:
    renamed = [("1x", 40, 10), ("roomy", 41, 2), ("uncapped", 46, 1)]
    found = calibrate(ascending(cells(*renamed), STATED))
    band = pinned(found, STATED)
    assert band == STATED[1]
    text = pin_toml(found, band)
    read = parse_experiment(f'tasks = ["t"]\n{text}', where="here", default_name="x")
    assert read.bands == (STATED[1],)


def test_bands_are_read_from_the_tightest_up_whatever_their_order() -> None:
    renamed = [("uncapped", 46, 1), ("roomy", 41, 2), ("1x", 40, 10)]
    assert ascending(cells(*renamed), STATED).levels["band"] == ("1x", "roomy", "uncapped")
    assert ascending(cells(*reversed(QUALIFIES))).levels["band"] == ("1x", "3x", "uncapped")


REFUSED = {
    "nobody knows what the name stands for": (
        (("1x", 40, 10), ("docker-big", 41, 2)), "import it with --band"),
    "too few trials": ((("1x", 40, 10), ("3x", 42, 2)), "3x needs"),
    "errors are not cut": ((("1x", 40, 10), ("3x", 40, 10)), "more trials alone would not"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_pinned_says_why(case: str) -> None:
    bands, words = REFUSED[case]
    found = calibrate(ascending(cells(*bands)))
    assert pinned(found) is None
    assert words in refusal(found)
