"""In which band a killed trial runs again."""

import pytest

from infranoise.models.band import Band, Share
from infranoise.models.errors import DesignError
from infranoise.models.replay import check_ceiling, replay_band

PRODUCTION = Band(name="production", cpu=Share(ceiling=1.0), oom_scope="pod", swap=0.5)
BANDS = [Band.shorthand("1x"), PRODUCTION, Band.shorthand("3x"), Band.shorthand("uncapped")]


def test_a_bands_name_means_that_band_whole() -> None:
    assert replay_band(BANDS, "production", "3x") == Band.shorthand("3x")


def test_a_shorthand_raises_the_memory_ceiling_and_nothing_else() -> None:
    made = replay_band(BANDS, "production", "4x")
    assert made is not None
    assert made == PRODUCTION.model_copy(update={"name": "4x", "memory": Share(ceiling=4.0)})


@pytest.mark.parametrize(
    ("killed_in", "ceiling"), [("3x", "3x"), ("3x", "2x"), ("uncapped", "9x"), ("3x", "1x")]
)
def test_what_is_no_higher_is_no_replay(killed_in: str, ceiling: str) -> None:
    assert replay_band(BANDS, killed_in, ceiling) is None


def test_a_ceiling_below_the_trials_own_floor_is_no_replay() -> None:
    roomy = Band(name="roomy", memory=Share(floor=2.0, ceiling=2.0))
    assert replay_band([roomy], "roomy", "1.5x") is None


def test_bands_that_nobody_recorded_cannot_be_replayed() -> None:
    assert replay_band([Band(name="theirs", stated=False)], "theirs", "3x") is None


def test_a_ceiling_must_lie_above_some_band() -> None:
    check_ceiling(BANDS, "2x")
    with pytest.raises(DesignError, match=r"no band has a lower memory ceiling \(1x, production"):
        check_ceiling(BANDS, "1x")
    with pytest.raises(DesignError, match="'lots' is no band"):
        check_ceiling(BANDS, "lots")
