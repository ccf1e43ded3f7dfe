"""A factor and how its levels came about: randomised per trial, set per wave, or only seen."""

from dataclasses import dataclass
from typing import Literal

from ..models.errors import DesignError

type Assignment = Literal["trial", "wave", "observed"]


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor to attribute to.

    Args:
        name: of the factor in the cells. assignment: the unit whose level was randomised.
        wave: for "wave", the factor of the cells that names the wave.
    Raises:
        DesignError: a wave without its factor, or the reverse.
    """

    name: str
    assignment: Assignment = "observed"
    wave: str | None = None

    def __post_init__(self) -> None:
        if (self.assignment == "wave") != (self.wave is not None):
            raise DesignError(
                f"factor {self.name}: a factor set per wave names the wave's column, and no other "
                f"does; write {self.name}:assigned=wave:COLUMN"
            )

    @classmethod
    def parse(cls, text: str) -> "Factor":
        """The factor of `NAME[:assigned=trial|wave:COLUMN|observed]`; observed if it does not say.

        `assigned=` may be left out.

        Raises:
            DesignError: another form.

        >>> Factor.parse("concurrency:assigned=wave:batch").wave
        'batch'
        >>> Factor.parse("hour:observed") == Factor.parse("hour")
        True
        """
        name, _, how = text.partition(":")
        match how.removeprefix("assigned="):
            case "trial":
                return cls(name, "trial")
            case "observed" | "" if how != "assigned=":
                return cls(name, "observed")
            case wave if wave.startswith("wave:") and wave != "wave:":
                return cls(name, "wave", wave.removeprefix("wave:"))
        raise DesignError(
            f"factor {text!r}: write NAME, or NAME:assigned=trial, =wave:COLUMN or =observed"
        )

    @property
    def observed(self) -> bool:
        """True if its effects are associations."""
        return self.assignment == "observed"
