"""The ceiling to pin: errors shown to be cut, and the score shown to be the same.

The rule "largest ceiling whose lift is not significant" moves down as data grow, and takes an
absence of evidence for equality. Instead choose the smallest ceiling c for which both are shown:

    (A) errors(c) < rho * errors(floor)       one-sided stratified z, from the largest ceiling down
    (B) |score(c) - score(floor)| < margin    TOST, from the smallest ceiling up

Both orders are fixed in advance and stop at the first failure, so every test is at full alpha; both
must hold (intersection-union), so their conjunction is at alpha too.

Source: Maurer, Hothorn & Lehmacher (1995), Biometrie in der chem.-pharm. Industrie 6:3-18, for the
fixed sequence; Berger (1982), Technometrics 24:295-300, for the conjunction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import and_

from ..models.errors import DesignError
from .ceiling import CeilingTests, Rule, Target, compare_ceiling, trials_needed
from .cells import Cells
from .equivalence import MARGIN
from .strata import Measure, Strata, strata_by_level

RHO = 0.5


@dataclass(frozen=True, slots=True)
class Ceiling:
    """One ceiling against the floor; rates and lifts are fractions.

    `cuts_errors` and `equivalent` are the verdicts within their fixed sequences: a p below alpha
    counts only if the ceilings before it in the sequence passed too. `smallest_margin` is the least
    equivalence margin that these data prove. `needed_trials` are the further trials at this band,
    and as many at the floor, for the failing tests to have 80 % power at the effects seen so far: 0
    if both pass, None if no number is enough; `obstacle` says what stands in the way.
    """

    band: str
    infra_rate: float
    lift: float
    cuts_errors_p: float | None
    equivalent_p: float | None
    smallest_margin: float | None
    cuts_errors: bool
    equivalent: bool
    needed_trials: int | None
    obstacle: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """The chosen ceiling, None when none is shown to qualify, and what every ceiling showed."""

    rule: str
    floor: str
    margin: float
    rho: float
    target: Target
    chosen: str | None
    per_ceiling: tuple[Ceiling, ...]


def calibrate(
    cells: Cells,
    *,
    margin: float = MARGIN,
    rho: float = RHO,
    floor: str | None = None,
    target: Target = "same",
    alpha: float = 0.05,
) -> Calibration:
    """Choose the smallest ceiling that cuts errors and provably leaves the score alone.

    Args:
        cells: counts by task, entry and band; bands in ascending order of their ceilings.
        margin: equivalence margin of the score, fraction, above 0.
        rho: share of the floor's infra errors below which a ceiling's must lie, in (0, 1].
        floor: the band compared with; the first by default. Bands before it are left out.
        target: equivalence on these tasks ("same") or on others like them ("new").
    Raises:
        DesignError: margin or rho out of range, no such floor, or no band above it.
        SampleTooSmall: a ceiling shares no task and entry with the floor.
    """
    if not (0.0 < margin < 1.0 and 0.0 < rho <= 1.0 and 0.0 < alpha < 0.5):
        raise DesignError(
            f"margin {margin} must lie in (0, 1), rho {rho} in (0, 1], alpha {alpha} in (0, 0.5)"
        )
    errors, scores = _tables(cells, "infra"), _tables(cells, "strict")
    first, bands = _above(tuple(scores), floor)
    rule = Rule(margin, rho, target, alpha)
    tests = [
        compare_ceiling(b, errors[b], errors[first], scores[b], scores[first], rule) for b in bands
    ]
    per_ceiling = _in_sequence(tests, rule)
    chosen = next((c.band for c in per_ceiling if c.cuts_errors and c.equivalent), None)
    return Calibration(_words(rule, first), first, margin, rho, target, chosen, per_ceiling)


def _tables(cells: Cells, measure: Measure) -> dict[str, Strata]:
    tables = strata_by_level(cells, "band", measure)
    return {band: table for band, table in tables.items() if table.run.any()}


def _above(bands: tuple[str, ...], floor: str | None) -> tuple[str, tuple[str, ...]]:
    """The floor, and the bands above it."""
    if floor is not None and floor not in bands:
        raise DesignError(f"no trials at the floor {floor!r}; bands run: {', '.join(bands)}")
    at = 0 if floor is None else bands.index(floor)
    if len(bands) < at + 2:
        raise DesignError(
            f"no band above the floor; a calibration needs two bands, these trials have "
            f"{', '.join(bands) or 'none'}: import a tree per ceiling into one --name, each with "
            "its --band; of a table name the column, --column band=…"
        )
    return bands[at], bands[at + 1 :]


def _in_sequence(tests: Sequence[CeilingTests], rule: Rule) -> tuple[Ceiling, ...]:
    """Read (A) from the largest ceiling down and (B) from the smallest up."""
    cuts = [t.cuts_p is not None and t.cuts_p < rule.alpha for t in tests]
    same = [t.equivalent_p is not None and t.equivalent_p < rule.alpha for t in tests]
    down = list(accumulate(reversed(cuts), and_))[::-1]
    up = list(accumulate(same, and_))
    return tuple(_ceiling(t, a, b, rule) for t, a, b in zip(tests, down, up, strict=True))


def _ceiling(tests: CeilingTests, cuts: bool, equivalent: bool, rule: Rule) -> Ceiling:
    needed, obstacle = (0, "") if cuts and equivalent else trials_needed(tests, rule)
    return Ceiling(
        band=tests.band,
        infra_rate=tests.infra_rate,
        lift=tests.score.est,
        cuts_errors_p=tests.cuts_p,
        equivalent_p=tests.equivalent_p,
        smallest_margin=tests.smallest_margin,
        cuts_errors=cuts,
        equivalent=equivalent,
        needed_trials=needed,
        obstacle=obstacle,
    )


def _words(rule: Rule, floor: str) -> str:
    return (
        f"smallest ceiling with infra errors below {rule.rho:g} x those of {floor} and a score "
        f"shown to lie within {100 * rule.margin:g} points of it"
    )
