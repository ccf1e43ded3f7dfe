"""The noise of earlier results, from a run's folder, a store, or a table that others made."""

from collections.abc import Sequence
from pathlib import Path

from ..analysis.api import is_table, question
from ..analysis.measured import Measured, measure
from ..analysis.read_ledger import read_study
from ..analysis.study_cells import study_cells
from .report import open_source


def noise_from(source: str, columns: Sequence[str]) -> Measured:
    """Measure what `plan` sizes by.

    Args:
        source: a CSV or Parquet table, a run's folder, a ledger file, or a database address.
        columns: pieces of `role=column,role=column`, for a table.
    Raises:
        DesignError: it cannot be read. SampleTooSmall: it shows no noise to plan with.
    """
    if is_table(source):
        return measure(*question(source, ",".join(columns) or None), source=Path(source).name)
    engine, _ = open_source(source)
    study = read_study(engine)
    return measure(*study_cells(study), source=study.experiment.name)
