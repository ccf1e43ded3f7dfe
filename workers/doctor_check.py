"""One line of the doctor's findings."""

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """A subject, what was found, what it means for a run, and how to mend it.

    `fail`: nothing can be measured as it is. `warn`: something cannot be had, or will be noisier.
    `remedy` is empty where there is nothing to mend.
    """

    name: str
    status: Status
    found: str
    meaning: str
    remedy: str = ""
