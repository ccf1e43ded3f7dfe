"""Trials as HiBayES reads them, for a Bayesian second opinion.

`hibayes-process --analysis-state FOLDER` loads FOLDER/data.parquet, of one row per sample with its
own column names: `score`, `model`, `task`, `dataset`, `epoch`. It has no word for infrastructure,
so that infra errors, band and further factors are columns of their own, to be used as features or
filters; nothing is dropped without a word.
"""

from pathlib import Path

import polars as pl

FOLDER = "hibayes"
ALWAYS = ("band", "wave", "node", "hour_utc", "verdict", "cause")


def hibayes_frame(attempts: pl.DataFrame, experiment: str) -> pl.DataFrame:
    """One row per trial with an outcome; infra errors score 0 and say so in `infra_error`.

    Args:
        attempts: see `attempt_frame`; further assigned factors stand between `band` and `sample`.
        experiment: its name, for `dataset`.
    """
    names = attempts.columns
    factors = names[names.index("band") + 1 : names.index("sample")]
    infra = pl.col("verdict") == "infra_error"
    return attempts.filter("accepted").select(
        pl.when(infra).then(0.0).otherwise(pl.col("reward")).alias("score"),
        pl.col("entry").alias("model"),
        "task",
        pl.lit(experiment).alias("dataset"),
        (pl.col("sample") + 1).alias("epoch"),
        infra.cast(pl.Int8).alias("infra_error"),
        *factors,
        *ALWAYS,
    )


def write_hibayes(folder: Path, attempts: pl.DataFrame, experiment: str) -> Path:
    """Write FOLDER/data.parquet; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "data.parquet"
    hibayes_frame(attempts, experiment).write_parquet(path, compression="snappy")
    return path
