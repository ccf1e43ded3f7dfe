"""A study's attempts as cells by everything that may have moved the score, and what to ask of them.

The ledger's own counts know the assigned factors only. Which wave a trial was in, on which node and
at which hour it ran, is told by its attempt.
"""

from collections.abc import Collection, Mapping, Sequence

import polars as pl

from ..models.arms import are_arms
from ..models.errors import DesignError
from .binned import UNKNOWN, binned, is_reading
from .cells import STRATUM, Cells
from .equivalence import MARGIN
from .factor import Factor
from .parts import Asked
from .read_ledger import Study

WAVE = "wave"
SET_PER_WAVE = ("concurrency",)
OBSERVED = ("node", "hour_utc", "weekday", "enforcement", "api_latency")


def study_cells(
    study: Study,
    *,
    reference: str | None = None,
    more: Sequence[Factor] = (),
    margin: float = MARGIN,
) -> tuple[Cells, Asked]:
    """Cells of the accepted attempts, and the question to ask of them.

    Assigned factors keep the level at which they were randomised; node, hour, weekday, enforcement
    and the latency of the model's API enter as observed where they took more than one level. A
    reading among `more` (a load, a rate) enters in quarters of its attempts. Without an outcome the
    ledger's own, empty cells are returned.

    Args:
        reference: the floor band; the experiment's tightest by default.
        more: further columns of the attempts to enter as factors.
        margin: of equivalence, a fraction.
    Raises:
        DesignError: the attempts have no such column.
    """
    floor = reference or study.experiment.reference.name
    arms = are_arms(study.experiment.bands)
    accepted = study.attempts.filter("accepted")
    if accepted.is_empty():
        return study.cells, Asked(floor, margin=margin, arms=arms)
    factors = {factor.name: factor for factor in [*_known(study, accepted), *more]}
    further = [name for name in factors if name != "band"]
    if unknown := [name for name in further if name not in accepted.columns]:
        raise DesignError(
            f"attempts have no column {unknown[0]!r}; they have: {', '.join(accepted.columns)}"
        )
    accepted, orders = _with_levels(accepted, further)
    waves = dict.fromkeys([WAVE, *(f.wave for f in factors.values() if f.wave is not None)])
    names = dict.fromkeys((*STRATUM, "band", *further, *waves))
    cells = _cells(accepted, names, {**study.cells.levels, **orders})
    return cells, Asked(floor, tuple(factors.values()), tuple(waves), margin, arms)


def _with_levels(
    accepted: pl.DataFrame, names: Sequence[str]
) -> tuple[pl.DataFrame, dict[str, tuple[str, ...]]]:
    """Readings among the factors as levels, and the order of those."""
    found = {name: binned(accepted[name]) for name in names if is_reading(accepted[name])}
    return accepted.with_columns(column for column, _ in found.values()), {
        name: (*order, *((UNKNOWN,) if column.null_count() else ()))
        for name, (column, order) in found.items()
    }


def _known(study: Study, accepted: pl.DataFrame) -> list[Factor]:
    """The experiment's own factors, and what was observed to vary."""
    assigned = [name for name in study.cells.factors if name not in (*STRATUM, "band")]
    observed = [name for name in OBSERVED if accepted[name].drop_nulls().n_unique() > 1]
    return [_assigned(name) for name in assigned] + [Factor(name) for name in observed]


def _assigned(name: str) -> Factor:
    return Factor(name, "wave", WAVE) if name in SET_PER_WAVE else Factor(name, "trial")


def _cells(
    accepted: pl.DataFrame, names: Collection[str], orders: Mapping[str, Sequence[str]]
) -> Cells:
    """Counts by all of `names`; factors of `orders` keep that order of their levels."""
    infra = pl.col("verdict") == "infra_error"
    reward = pl.when(infra).then(0.0).otherwise(pl.col("reward"))
    rows = accepted.group_by(pl.col(name).cast(pl.String).fill_null(UNKNOWN) for name in names)
    counts = rows.agg(
        n=pl.len(),
        passed=(pl.col("verdict") == "passed").sum(),
        infra=infra.sum(),
        reward_sum=reward.sum(),
        reward_sumsq=(reward * reward).sum(),
    )
    return Cells.of_counts(
        {name: counts[name].to_numpy() for name in names},
        **{name: counts[name].to_numpy() for name in counts.columns if name not in names},
        levels={name: order for name, order in orders.items() if name in names},
    )
