"""One band as two identical arms."""

from collections.abc import Callable

import pytest

from infranoise.models.arms import are_arms, split_arms
from infranoise.models.band import Band, Share
from infranoise.models.errors import DesignError
from infranoise.models.experiment import Experiment

BANDS = [Band.shorthand("3x"), Band(name="1x", cpu=Share(ceiling=2.0)), Band.shorthand("uncapped")]


@pytest.fixture
def experiment(make_experiment: Callable[..., Experiment]) -> Experiment:
    return make_experiment(bands=BANDS)


def test_the_reference_is_split_unless_another_band_is_named(experiment: Experiment) -> None:
    assert [band.name for band in split_arms(experiment).bands] == ["1x-A", "1x-B"]
    assert [band.name for band in split_arms(experiment, "3x").bands] == ["3x-A", "3x-B"]


def test_the_arms_differ_in_name_alone_and_nothing_else_of_the_experiment_moves(
    experiment: Experiment,
) -> None:
    made = split_arms(experiment)
    assert are_arms(made.bands)
    assert {band.model_copy(update={"name": "1x"}) for band in made.bands} == {BANDS[1]}
    assert made.name == "small-aa"
    assert made.model_copy(update={"name": "small", "bands": experiment.bands}) == experiment


def test_other_bands_are_no_arms() -> None:
    assert not are_arms(BANDS)
    assert not are_arms(BANDS[:2])
    assert not are_arms([Band(name=name, stated=False) for name in ("a", "b")])


def test_long_names_stay_names(make_experiment: Callable[..., Experiment]) -> None:
    long = make_experiment(name="n" * 64, bands=[Band(name="b" * 40)])
    made = Experiment.model_validate(split_arms(long).model_dump())
    assert are_arms(made.bands)


def test_a_band_that_is_not_there_is_named(experiment: Experiment) -> None:
    with pytest.raises(DesignError, match=r"no band '9x' .* there are: 3x, 1x, uncapped"):
        split_arms(experiment, "9x")
