"""May a run stop? Asked after every round that completes, of the counts by round alone."""

from dataclasses import dataclass

from ..models.errors import DesignError, SampleTooSmall
from .cells import Cells
from .equivalence import MARGIN
from .looks import look_rounds, looked
from .rounds import watch
from .sequential import FEWEST_ROUNDS, Decision, Monitor, may_stop
from .words import listed, points

OUTCOMES: dict[Decision, str] = {
    "difference": "different",
    "equivalent": "equal within the margin",
    "continue": "open",
}


@dataclass(frozen=True, slots=True)
class StopRule:
    """When enough was seen: once every band's lift is decided, as different or as equal.

    Args:
        margin: of equivalence, fraction.
        looks: declared looks (O'Brien-Fleming); None: after every round (anytime-valid).
        alpha: of each contrast.
    """

    margin: float = MARGIN
    looks: int | None = None
    alpha: float = 0.05

    @property
    def words(self) -> str:
        """The rule in a sentence's part."""
        margin = points(self.margin, signed=False)
        how = (
            "anytime-valid confidence sequences, looked at after every round"
            if self.looks is None
            else f"O'Brien-Fleming bounds at {self.looks} declared looks"
        )
        return f"every lift decided, with a margin of {margin} points: {how}"

    def check(self, rounds: int) -> None:
        """Refuse a rule that could never stop a run of so many rounds.

        Raises:
            DesignError: too few rounds, more looks than rounds, or a margin outside (0, 1).
        """
        if not 0.0 < self.margin < 1.0:
            raise DesignError(
                f"margin {100 * self.margin:g}: give points between 0 and 100, such as margin=1.5"
            )
        if self.looks is not None:
            look_rounds(self.looks, rounds)
        elif rounds <= FEWEST_ROUNDS:
            raise DesignError(
                f"{rounds} samples: the monitor decides from round {FEWEST_ROUNDS} on, so such a "
                "run could not stop early; plan more samples, or declare --looks"
            )


@dataclass(frozen=True, slots=True)
class Stopping:
    """What the rounds so far say: each lift's monitor, and whether the run may stop."""

    rule: str
    rounds: int
    planned: int
    contrasts: tuple[Monitor, ...]
    stop: bool
    sentence: str


def stopping(cells: Cells, reference: str, rule: StopRule, planned: int) -> Stopping | None:
    """Read the complete rounds; None before anything can be read.

    Args:
        cells: counts by task, entry, band and sample: complete rounds, from the first on.
        reference: the band that lifts are taken against.
        planned: rounds of the whole run.
    Raises:
        DesignError: the cells lack a factor or the reference, or have one band only.
    """
    try:
        contrasts = _monitors(cells, reference, rule, planned)
    except SampleTooSmall:  # the first look is not reached
        return None
    rounds = contrasts[0].rounds
    stop = may_stop(contrasts) and rounds < planned
    sentence = _sentence(contrasts, rounds, planned)
    return Stopping(rule.words, rounds, planned, contrasts, stop, sentence)


def _monitors(cells: Cells, reference: str, rule: StopRule, planned: int) -> tuple[Monitor, ...]:
    if rule.looks is None:
        return watch(cells, reference, margin=rule.margin, alpha=rule.alpha)
    bands = [band for band in cells.levels["band"] if band != reference]
    if not bands:
        raise DesignError("a monitor needs two bands with trials")
    return tuple(
        looked(
            cells,
            band,
            reference,
            looks=rule.looks,
            planned=planned,
            margin=rule.margin,
            alpha=rule.alpha,
        )
        for band in bands
    )


def _sentence(contrasts: tuple[Monitor, ...], rounds: int, planned: int) -> str:
    told = [
        f"{one.contrast.replace(' - ', ' over ')} {points(one.est)} points "
        f"({points(one.lo)} to {points(one.hi)}), {OUTCOMES[one.decision]}"
        for one in contrasts
    ]
    return f"After {rounds} of {planned} rounds: {listed(told)}."
