"""What a scheduler tells of each attempt that came home."""

from dataclasses import dataclass

from ..models.ledger.attempts import Replay
from ..models.ledger.ingest import Ingested
from ..models.message import AttemptRecord
from ..models.trial import TrialKey


@dataclass(frozen=True, slots=True)
class Happened:
    """One attempt came home: its trial's key, what became of it, and its record if there is one.

    `replay` is set where it was a kill replay.
    """

    experiment: str
    key: TrialKey
    ingested: Ingested
    record: AttemptRecord | None
    replay: Replay | None = None
