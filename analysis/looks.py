"""Declared looks at a run: repeated confidence intervals on O'Brien-Fleming bounds.

Where the number of looks is declared before the run, each look k may use `est +- z_k se_k`, and all
these intervals hold together: a run may stop at the first one that leaves zero out, or that lies
inside the equivalence margin. Between looks nothing is decided.

Source: Jennison & Turnbull (1989), JRSS B 51:305-361, for repeated confidence intervals.
"""

import math

from ..models.errors import DesignError, SampleTooSmall
from .cells import Cells
from .obrien_fleming import declare_looks
from .rounds import complete_rounds
from .sequential import Decision, Monitor


def look_rounds(looks: int, rounds: int) -> tuple[int, ...]:
    """After how many rounds each look falls, the last at the end: as equally spaced as can be.

    Raises:
        DesignError: no look, or more looks than rounds.

    >>> look_rounds(4, 10)
    (3, 5, 8, 10)
    """
    if not 1 <= looks <= rounds:
        raise DesignError(f"{looks} looks at {rounds} rounds: declare 1 to {rounds}")
    return tuple(math.ceil(k * rounds / looks) for k in range(1, looks + 1))


def looked(
    cells: Cells,
    band: str,
    vs: str,
    *,
    looks: int,
    planned: int,
    margin: float,
    alpha: float = 0.05,
    rounds: str = "sample",
) -> Monitor:
    """One contrast at the looks that the rounds so far have reached.

    Args:
        cells: counts by task, entry, band and `rounds`, of complete rounds from the first on.
        looks: declared. planned: rounds of the whole run.
        margin: of equivalence, fraction, above 0.
    Raises:
        SampleTooSmall: the first look is not reached. DesignError: as `look_rounds`.
    """
    reached = [at for at in look_rounds(looks, planned) if at <= len(cells.levels[rounds])]
    if not reached:
        first = look_rounds(looks, planned)[0]
        raise SampleTooSmall(f"the first look falls after {first} rounds")
    fractions = [at / planned for at in look_rounds(looks, planned)]
    bounds = declare_looks(looks, alpha, fractions)
    found = [
        _look(cells.select(**{rounds: cells.levels[rounds][:at]}), band, vs, look.z, rounds)
        for at, look in zip(reached, bounds)
    ]
    decisions = [_decision(est, half, margin) for est, half, _ in found]
    decided = next((k for k, one in enumerate(decisions) if one != "continue"), None)
    est, half, sigma = found[-1]
    return Monitor(
        contrast=f"{band} - {vs}",
        rounds=reached[-1],
        est=est,
        lo=max(-1.0, est - half),
        hi=min(1.0, est + half),
        sigma=sigma,
        margin=margin,
        decision="continue" if decided is None else decisions[decided],
        decided_at=None if decided is None else reached[decided],
    )


def _look(cells: Cells, band: str, vs: str, z: float, rounds: str) -> tuple[float, float, float]:
    """Estimate, half-width and SD of a round; no spread seen allows no decision."""
    found = complete_rounds(cells, band, vs, rounds)
    sigma = found.sigma or 0.0
    half = z * sigma / math.sqrt(found.differences.size) if sigma > 0.0 else math.inf
    return float(found.differences.mean()), half, sigma


def _decision(est: float, half: float, margin: float) -> Decision:
    if abs(est) > half:
        return "difference"
    return "equivalent" if abs(est) + half < margin else "continue"
