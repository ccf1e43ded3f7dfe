"""Which column of a table of trials means what: `task=…,entry=…,reward=…`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches

from ..models.errors import DesignError


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Column names of a table with one row per trial.

    Args:
        task: the task's name.
        passed: true or 1 where the trial passed, or its reward; empty where there is no outcome.
        entry: agent and model as they compete; without it `agent` and `model`, else one entry.
        band: the configuration of resources.
        run: the job that the trial was part of.
        id: the trial's own name; without it the file and the row name it.
        infra_error: true or 1 where the trial ended as an infra error.
        mode, message: the source's word for how the trial ended, and its words about it.
        started, ended: ISO 8601 times or Unix seconds.
        concurrency: trials in flight at once.
        factors: further assigned factors, name -> column.
    """

    task: str
    passed: str
    entry: str | None = None
    agent: str | None = None
    model: str | None = None
    band: str | None = None
    run: str | None = None
    id: str | None = None
    infra_error: str | None = None
    mode: str | None = None
    message: str | None = None
    started: str | None = None
    ended: str | None = None
    concurrency: str | None = None
    factors: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, factors: Mapping[str, str] | None = None) -> "TableColumns":
        """Columns of `role=column,role=column`; further factors by name -> column.

        Raises:
            DesignError: a piece that is no `role=column`, an unknown role, one given twice, or no
                column for task and passed.

        >>> TableColumns.parse("task=problem,passed=solved").task
        'problem'
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
        if "task" not in roles or "passed" not in roles:
            raise DesignError(
                "columns: a table of trials needs task=COLUMN and passed=COLUMN at least"
            )
        return cls(**roles, factors=dict(factors or {}))

    @property
    def named(self) -> dict[str, str]:
        """Role -> column, of every column that is used."""
        roles = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "factors"}
        return {**{r: c for r, c in roles.items() if c is not None}, **self.factors}
