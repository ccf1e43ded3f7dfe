"""What every reader of others' results is given, and what it gives.

A reader yields units: one file of results, or what lies in one folder. A unit goes in whole or not
at all. What it could not read it reports as faults, and goes on.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..models.band import Band
from ..models.errors import SourceFault
from ..models.foreign import ForeignTrial
from ..models.node import NodeProfile
from ..models.source import Kind, Total, Unrecorded
from .modes import Modes
from .table_columns import TableColumns


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user chose for an import.

    Args:
        modes: what the source's words mean.
        band: the configuration that all of it ran under, where the user knows it.
        entry: the name of the one entry that all of it belongs to, where the source's own will
            not do.
        reward: which of several named rewards or scorers counts.
        most_reward: the reward that is a pass.
        columns: of a table.
    """

    modes: Modes
    band: Band | None = None
    entry: str | None = None
    reward: str | None = None
    most_reward: float = 1.0
    columns: TableColumns | None = None


class Unit(NamedTuple):
    """Trials that go in together; `streamed`: they are read as they are taken, and may fail."""

    path: Path
    trials: Iterable[ForeignTrial]
    streamed: bool = False


@dataclass(slots=True)
class Account:
    """What was met on the way through a tree of results; `profiles` of nodes by their names."""

    faults: list[SourceFault] = field(default_factory=list)
    harnesses: Counter[str] = field(default_factory=Counter)
    totals: list[Total] = field(default_factory=list)
    unrecorded: list[Unrecorded] = field(default_factory=list)
    profiles: dict[str, NodeProfile] = field(default_factory=dict)
    files: int = 0
    _digests: list[bytes] = field(default_factory=list)

    def saw(self, digest: bytes) -> None:
        """A file was read; its digest."""
        self.files += 1
        self._digests.append(digest)

    def content_hash(self) -> str:
        """The hash of everything that was read, in any order."""
        return hashlib.sha256(b"".join(sorted(self._digests))).hexdigest()

    def lacks(self, what: str, why: str, trials: int | None = None) -> None:
        """The source does not record something; nothing is said of 0 trials."""
        if trials != 0:
            self.unrecorded.append(Unrecorded(what=what, why=why, trials=trials))


type Reader = Callable[[Sequence[Path], Choices, Account], Iterator[Unit]]


@dataclass(frozen=True, slots=True)
class Importer:
    """A kind of source: how it is read, which assigned factors it tells, how a path is known."""

    kind: Kind
    read: Reader
    factors: tuple[str, ...]
    knows: Callable[[Path], bool]
