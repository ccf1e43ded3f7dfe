"""What the opening sentences of a report are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .bands import BandRow


@dataclass(frozen=True, slots=True)
class Story:
    """What the sentences are made of.

    Args:
        bands: the band report, in order; one of them is the reference.
        reference: the floor band.
        entries, policies: entries with trials, and which of them are policies.
        planned: trials planned; None where nobody knows, as in a table.
        oom_killed: trials that the kernel killed for memory, by band; None where nobody knows.
    """

    bands: Sequence[BandRow]
    reference: str
    entries: Sequence[str] = ()
    policies: Sequence[str] = ()
    planned: int | None = None
    oom_killed: Mapping[str, int] | None = None

    @property
    def run(self) -> list[BandRow]:
        """Bands with an outcome."""
        return [row for row in self.bands if row.n]

    @property
    def n(self) -> int:
        """Trials with an outcome."""
        return sum(row.n for row in self.bands)

    @property
    def infra_errors(self) -> int:
        """Trials that infrastructure ended."""
        return sum(row.infra_errors for row in self.bands)

    @property
    def compared(self) -> tuple[BandRow, BandRow] | None:
        """The floor band and the last one other than it; None unless both have outcomes."""
        floor = [row for row in self.run if row.band == self.reference]
        others = [row for row in self.run if row.band != self.reference]
        return (floor[0], others[-1]) if floor and others else None
