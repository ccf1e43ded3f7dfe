"""Which column of a table means what: `task=…,entry=…,band=…,passed=…,infra_error=…`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches

from ..models.errors import DesignError

FACTORS = ("task", "entry", "band")


@dataclass(frozen=True, slots=True)
class Columns:
    """Column names of a table, of one row per trial or of one row per combination of levels.

    Args:
        task, entry, band: labels; without such a column every row has the label "all".
        passed: true or 1 where a trial passed; or its reward, a fraction of 0..1; a trial without
            a verdict is missing here and counts as an infra error.
        infra_error: true or 1 where a trial ended as an infra error.
        n: trials per row. A table of counts has it, and then `passes`, and may have
            `infra_errors`, and for fractional rewards `reward_sum` with `reward_sumsq`.
        factors: further factors, name -> column.
    Raises:
        DesignError: neither `passed` nor `n` with `passes`, or both; no column with labels.
    """

    task: str | None = None
    entry: str | None = None
    band: str | None = None
    passed: str | None = None
    infra_error: str | None = None
    n: str | None = None
    passes: str | None = None
    infra_errors: str | None = None
    reward_sum: str | None = None
    reward_sumsq: str | None = None
    factors: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        counted = self.n is not None and self.passes is not None
        if counted == (self.passed is not None) or (self.n is None) != (self.passes is None):
            raise DesignError(
                "columns: give passed=COLUMN for a table of trials, or n=COLUMN,passes=COLUMN for "
                "a table of counts"
            )
        if not self.labelled:
            raise DesignError("columns: name at least one of task, entry, band or a factor")
        if (self.reward_sum is None) != (self.reward_sumsq is None):
            raise DesignError("columns: reward_sum and reward_sumsq come together")
        if taken := sorted(set(self.factors) & {f.name for f in fields(self)}):
            raise DesignError(f"columns: {taken[0]!r} is no name for a further factor")

    @classmethod
    def parse(cls, text: str, factors: Mapping[str, str] | None = None) -> "Columns":
        """Columns of `role=column,role=column`; further factors by name -> column.

        Raises:
            DesignError: a piece that is no `role=column`, an unknown role, or one given twice.

        >>> Columns.parse("task=t,passed=y").task
        't'
        """
        known = [f.name for f in fields(cls) if f.name != "factors"]
        roles: dict[str, str] = {}
        for piece in filter(None, (part.strip() for part in text.split(","))):
            role, equals, column = (word.strip() for word in piece.partition("="))
            if not (equals and role and column):
                raise DesignError(f"columns: {piece!r} is not of the form role=COLUMN")
            if role not in known:
                near = get_close_matches(role, known, 1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; roles: {', '.join(known)}"
                raise DesignError(f"columns: unknown role {role!r}{hint}")
            if role in roles:
                raise DesignError(f"columns: role {role!r} is given twice")
            roles[role] = column
        return cls(**roles, factors=dict(factors or {}))

    @property
    def labelled(self) -> dict[str, str]:
        """Factor name -> column, of every factor that has a column."""
        roles = {name: getattr(self, name) for name in FACTORS}
        return {**{f: column for f, column in roles.items() if column is not None}, **self.factors}
