"""What the ledger still owes of an experiment, read in pieces: trials, then kill replays."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Engine

from ..models.experiment import Experiment
from ..models.ledger.attempts import Owed, owed
from ..models.ledger.replays import owed_replays, replays_done, replays_open
from ..models.ledger.rounds import last_wave_begun

PIECE = 2_000  # trials read at once


@dataclass(slots=True)
class Backlog:
    """Where the reading of one experiment stands.

    `all_read`: every trial that is owed was read; `replays_read`: no replay is owed any more.
    `last_wave` is the last whose trials are read; None: all.
    """

    engine: Engine
    name: str
    all_read: bool = False
    replays_read: bool = False
    last_wave: int | None = None
    _read_to: int = -1

    @property
    def empty(self) -> bool:
        """Whether nothing is owed that was not read."""
        return self.all_read and self.replays_read

    def trials(self) -> Sequence[Owed]:
        """The next trials that are owed, in order of dispatch."""
        more = owed(
            self.engine, self.name, after=self._read_to, limit=PIECE, last_wave=self.last_wave
        )
        self.all_read = len(more) < PIECE
        if more:
            self._read_to = more[-1].position
        return more

    def replays(self, experiment: Experiment, fence: int | None) -> Sequence[Owed]:
        """What is to be replayed now that all else is done, until the ledger says that all is.

        Raises:
            Deposed: another scheduler leads now.
        """
        is_open = replays_open(self.engine, self.name)
        more = owed_replays(self.engine, experiment) if is_open else ()
        if not more:
            self.replays_read = True
            replays_done(self.engine, self.name, fence=fence)
        return more

    def begin_again(self) -> None:
        """Read from the first trial on."""
        self._read_to, self.all_read, self.replays_read = -1, False, False

    def end_with_begun_waves(self) -> int:
        """Read nothing of waves that have not begun; the last that has."""
        self.last_wave = last_wave_begun(self.engine, self.name)
        return self.last_wave
