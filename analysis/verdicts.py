"""What the rows of a table say of their trials, as polars expressions."""

import polars as pl

from ..models.errors import DesignError
from .columns import Columns

COUNTS = ("n", "passed", "infra", "reward_sum", "reward_sumsq", "odd")
PASSED, INFRA, ODD, VERDICTS = 1, 2, 3, 4
TRUTHS = {"true": 1, "false": 0, "1": 1, "0": 0, "1.0": 1, "0.0": 0, "": None}
NEITHER = 9


def verdict_of(schema: pl.Schema, columns: Columns) -> pl.Expr | None:
    """0 failed, 1 passed, 2 infra error, 3 odd; None for a table of counts or of fractions.

    A trial without a verdict is an infra error; odd is one that passed as well, or that has a
    verdict other than 0 or 1.

    Raises:
        DesignError: a column is missing, or is no truth value.
    """
    if columns.passed is None or _dtype(schema, columns.passed).is_float():
        return None
    passed, infra = _truth(schema, columns.passed), _infra(schema, columns)
    infra_or_missing = infra.cast(pl.Boolean) | passed.is_null()
    verdict = infra_or_missing.cast(pl.UInt8) * INFRA + passed.fill_null(0).cast(pl.Boolean)
    plain = _dtype(schema, columns.passed) == pl.Boolean and (
        columns.infra_error is None or _dtype(schema, columns.infra_error) == pl.Boolean
    )
    return (
        verdict
        if plain
        else pl.when(_binary(passed) & _binary(infra))
        .then(verdict)
        .otherwise(pl.lit(ODD, dtype=pl.UInt8))
    )


def counts_of(schema: pl.Schema, columns: Columns) -> dict[str, pl.Expr]:
    """The counts of each row by name (`COUNTS`); `odd` is 1 where they contradict each other.

    Raises:
        DesignError: a column is missing or of the wrong kind.
    """
    return _of_trial(schema, columns) if columns.passed else _of_counts(schema, columns)


def _of_trial(schema: pl.Schema, columns: Columns) -> dict[str, pl.Expr]:
    given = _truth(schema, columns.passed or "").cast(pl.Float64).fill_nan(None)
    reward, stated = given.fill_null(0.0), _infra(schema, columns)
    infra = (stated != 0) | given.is_null()
    fits = reward.is_between(0.0, 1.0) & _binary(stated) & ~(infra & (reward > 0.0))
    return {
        "n": reward * 0.0 + 1.0,
        "passed": (reward == 1.0).cast(pl.Int64),
        "infra": infra.cast(pl.Int64),
        "reward_sum": reward,
        "reward_sumsq": reward * reward,
        "odd": (~fits).cast(pl.Int64),
    }


def _of_counts(schema: pl.Schema, columns: Columns) -> dict[str, pl.Expr]:
    n, passed = _number(schema, columns.n or ""), _number(schema, columns.passes or "")
    infra = _number(schema, columns.infra_errors) if columns.infra_errors else n * 0
    total = _number(schema, columns.reward_sum) if columns.reward_sum else passed
    squares = _number(schema, columns.reward_sumsq) if columns.reward_sumsq else passed
    # To polars no number is larger than NaN, and it equals itself.
    fits = (passed >= 0) & (infra >= 0) & (passed + infra <= n) & (n == n.round())
    fits &= pl.all_horizontal(column.is_finite() for column in (n, total, squares))
    return {
        "n": n,
        "passed": passed,
        "infra": infra,
        "reward_sum": total,
        "reward_sumsq": squares,
        "odd": (~(fits & (passed == passed.round()) & (infra == infra.round()))).cast(pl.Int64),
    }


def _infra(schema: pl.Schema, columns: Columns) -> pl.Expr:
    """The infra error column as numbers, 0 where it does not say."""
    if columns.infra_error is None:
        return pl.lit(0, dtype=pl.UInt8)
    truth = _truth(schema, columns.infra_error)
    if _dtype(schema, columns.infra_error) == pl.Boolean:
        return truth.fill_null(False).cast(pl.UInt8)
    return truth.cast(pl.Float64).fill_nan(None).fill_null(0.0)


def _binary(truth: pl.Expr) -> pl.Expr:
    known = truth.fill_null(0)
    return (known == 0) | (known == 1)


def _truth(schema: pl.Schema, column: str) -> pl.Expr:
    dtype = _dtype(schema, column)
    if dtype == pl.String:
        word = pl.col(column).str.strip_chars().str.to_lowercase()
        return word.replace_strict(TRUTHS, default=NEITHER, return_dtype=pl.Int64)
    if not (dtype == pl.Boolean or dtype.is_numeric()):
        raise DesignError(f"column {column!r} is {dtype}; a verdict is true or false, or 0 to 1")
    return pl.col(column).cast(pl.Boolean) if schema[column] == pl.Null else pl.col(column)


def _number(schema: pl.Schema, column: str) -> pl.Expr:
    dtype = _dtype(schema, column)
    if not dtype.is_numeric():
        raise DesignError(f"column {column!r} is {dtype}; a count is a number")
    return pl.col(column).cast(pl.Float64).fill_null(0.0)


def _dtype(schema: pl.Schema, column: str) -> pl.DataType:
    if column not in schema:
        raise DesignError(f"no column {column!r} in the table; it has: {', '.join(schema)}")
    # A column of nothing but missing values may have been meant as any kind.
    return pl.Boolean() if schema[column] == pl.Null else schema[column]
