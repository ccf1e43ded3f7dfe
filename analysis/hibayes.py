"""Trials as HiBayES reads them, for a Bayesian second opinion.

`hibayes-process --analysis-state FOLDER` loads FOLDER/data.parquet, of one row per sample with its
own column names: `score`, `model`, `task`, `dataset`, `epoch`. It has no word for infrastructure,
so that infra errors, band and further factors are columns of their own, to be used as features or
filters; nothing is dropped without a word.
"""

from pathlib import Path

import numpy as np
import polars as pl

from ..models.errors import DesignError
from .cells import Cells

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


def hibayes_of_cells(cells: Cells, dataset: str) -> pl.DataFrame:
    """One row per trial of a table that others made; `epoch` counts the trials of a cell.

    Raises:
        DesignError: fractional rewards, of which cells hold sums alone.
    """
    if cells.fractional:
        raise DesignError("single rewards cannot be had from sums; export the trials themselves")
    rows = np.repeat(np.arange(len(cells)), cells.n)
    epoch = np.arange(rows.size) - np.repeat(np.cumsum(cells.n) - cells.n, cells.n)
    labels = {
        ("model" if name == "entry" else name): np.array(cells.levels[name])[codes][rows]
        for name, codes in cells.codes.items()
    }
    return pl.DataFrame(
        {
            "score": (epoch < cells.passed[rows]).astype(np.float64),
            "model": labels.pop("model"),
            "task": labels.pop("task"),
            "dataset": [dataset] * rows.size,
            "epoch": epoch + 1,
            "infra_error": (epoch >= (cells.n - cells.infra)[rows]).astype(np.int8),
            **labels,
        }
    )


def write_frame(folder: Path, rows: pl.DataFrame) -> Path:
    """Write FOLDER/data.parquet; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "data.parquet"
    rows.write_parquet(path, compression="snappy")
    return path


def write_hibayes(folder: Path, attempts: pl.DataFrame, experiment: str) -> Path:
    """Write FOLDER/data.parquet of a run's attempts; returns its path."""
    return write_frame(folder, hibayes_frame(attempts, experiment))
