"""A/A: one band as two identical arms, so that the instrument itself is put to the test."""

from collections.abc import Sequence

from .band import Band
from .errors import DesignError
from .experiment import Experiment

SUFFIX, ARMS = "-aa", ("A", "B")
LONGEST_NAME, LONGEST_BAND = 64, 40


def split_arms(experiment: Experiment, band: str | None = None) -> Experiment:
    """The experiment with one band in two arms that differ in name alone.

    Args:
        band: the one to split; the reference by default.
    Raises:
        DesignError: no such band.
    """
    name = band or experiment.reference.name
    found = next((known for known in experiment.bands if known.name == name), None)
    if found is None:
        known_bands = ", ".join(known.name for known in experiment.bands)
        raise DesignError(f"no band {name!r} to split into arms; there are: {known_bands}")
    stem = found.name[: LONGEST_BAND - 2]
    arms = tuple(found.model_copy(update={"name": f"{stem}-{arm}"}) for arm in ARMS)
    title = experiment.name[: LONGEST_NAME - len(SUFFIX)] + SUFFIX
    return experiment.model_copy(update={"name": title, "bands": arms})


def are_arms(bands: Sequence[Band]) -> bool:
    """True if these are two bands that differ in name alone.

    >>> are_arms([Band.shorthand("3x"), Band.shorthand("3x").model_copy(update={"name": "twin"})])
    True
    """
    if len(bands) != 2 or not all(band.stated for band in bands):
        return False
    first, second = (band.model_copy(update={"name": "arm"}) for band in bands)
    return first == second
