"""Readings as levels: a factor has levels, a reading has a number for every attempt."""

import polars as pl

PARTS = 4
FEW_LEVELS = 12
UNKNOWN = "unknown"


def is_reading(column: pl.Series) -> bool:
    """Whether a column holds numbers that are too many to be levels of their own."""
    if not column.dtype.is_numeric():
        return False
    return bool(column.dtype.is_float()) or column.n_unique() > FEW_LEVELS


def binned(column: pl.Series) -> tuple[pl.Series, tuple[str, ...]]:
    """A reading in quarters of its attempts, and their labels in order.

    Equal readings fall into one quarter, so that there may be fewer. Readings that are not told
    stay null.

    >>> levels, order = binned(pl.Series("load", [0.5, 1.0, 1.5, 2.0, None]))
    >>> order
    ('0.5 to 1', '1.5', '2')
    """
    x = column.cast(pl.Float64)
    cuts = sorted(
        {float(cut) for i in range(1, PARTS) if (cut := x.quantile(i / PARTS)) is not None}
    )
    above = [(pl.col("x") > cut).cast(pl.Int64) for cut in cuts]
    part = pl.sum_horizontal(*above) if above else pl.lit(0)
    frame = pl.DataFrame({"x": x}).with_columns(
        part=pl.when(pl.col("x").is_not_null()).then(part).cast(pl.String)
    )
    spans = frame.drop_nulls().group_by("part").agg(low=pl.min("x"), high=pl.max("x")).sort("low")
    labels = {part: _label(low, high) for part, low, high in spans.iter_rows()}
    return frame["part"].replace(labels).alias(column.name), tuple(dict.fromkeys(labels.values()))


def _label(low: float, high: float) -> str:
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
