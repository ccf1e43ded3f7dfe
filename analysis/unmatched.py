"""What two scores may differ by when their configurations were not matched."""

from dataclasses import dataclass

from .attribution import Attribution, FactorRow


@dataclass(frozen=True, slots=True)
class Unmatched:
    """Of all factors of a model, as if two scores shared the level of none.

    Args:
        phi: sum of their components, fraction squared; of one score.
        spread: largest difference between two configurations that were run, fraction.
    """

    phi: float
    spread: float


def unmatched(found: Attribution | None) -> Unmatched:
    """Sums over the factors that could be attributed to; zeros where nothing was.

    Source: statistics.md 5 (iii).
    """
    rows = found.factors if found else ()
    return Unmatched(sum(_phi(row) for row in rows), sum(_spread(row) for row in rows))


def _phi(row: FactorRow) -> float:
    component = row.component_new or row.component
    return component.phi if component else 0.0


def _spread(row: FactorRow) -> float:
    """Between the best level and the worst; the reference's effect is 0."""
    effects = [0.0, *(level.est for level in row.levels if level.est is not None)]
    return max(effects) - min(effects)
