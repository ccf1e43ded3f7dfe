"""The values of one row of a table, by role."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..models.errors import SourceFault
from .ending import checked_reward
from .fields import number
from .labels import short
from .moments import moment
from .table_columns import TableColumns

YES = frozenset({"true", "yes", "y", "passed", "pass", "resolved"})
NO = frozenset({"false", "no", "n", "failed", "fail", "unresolved"})
NOTHING = frozenset({"", "none", "null", "na", "n/a"})


@dataclass(frozen=True, slots=True)
class Cells:
    """One row: where it stands, its values by column, and what the columns mean."""

    path: Path
    place: str
    row: Mapping[str, Any]
    columns: TableColumns

    def at(self, role: str) -> str:
        """The place of a value, for faults."""
        return f"{self.place}, {self.columns.named.get(role, role)}"

    def value(self, role: str) -> object:
        """A value as it stands; None where there is no such column, or nothing in it."""
        value = self.row.get(self.columns.named.get(role, ""))
        return None if isinstance(value, str) and not value.strip() else value

    def text(self, role: str) -> str:
        """A value as one line of text; "" where there is none."""
        value = self.value(role)
        return "" if value is None else short(value)

    def flag(self, role: str) -> bool:
        """A value as yes or no; no where there is none.

        Raises:
            SourceFault: it is neither.
        """
        value = self._number_or_word(role)
        if value in (None, 0.0, 1.0):
            return bool(value)
        raise SourceFault(self.path, self.at(role), f"{value!r:.60} is neither true nor false")

    def reward(self, most: float) -> float | None:
        """The outcome as a reward in [0, 1]; None where there is none.

        Raises:
            SourceFault: it is no truth value and no number in 0..`most`.
        """
        value = self._number_or_word("passed")
        if value is None or (isinstance(self.value("passed"), bool | str) and value in (0.0, 1.0)):
            return value if value is None else float(value)
        return checked_reward(self.path, self.at("passed"), value, most)

    def moment(self, role: str) -> float | None:
        """A time: ISO 8601, or Unix seconds.

        Raises:
            SourceFault: it is neither.
        """
        value = self.value(role)
        if hasattr(value, "isoformat"):
            value = value.isoformat()
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                return moment(self.path, self.at(role), value)
        if value is None or (found := number(value)) is not None:
            return None if value is None else found
        raise SourceFault(self.path, self.at(role), f"{value!r:.60} is no time")

    def _number_or_word(self, role: str) -> float | None:
        value = self.value(role)
        if isinstance(value, str):
            word = value.strip().lower()
            if word in NOTHING:
                return None
            if word in YES | NO:
                return float(word in YES)
            try:
                return float(word)
            except ValueError:
                raise SourceFault(
                    self.path, self.at(role), f"{value!r:.60} is neither a truth value nor a number"
                ) from None
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        if isinstance(value, bool | float):
            return float(value)
        if (found := number(value)) is not None:
            return found
        raise SourceFault(self.path, self.at(role), f"{value!r:.60} is no outcome")
