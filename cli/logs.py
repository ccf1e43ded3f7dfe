"""`logs`: what agent and verifier of one attempt printed, as far as it was kept."""

import json
import sys
from pathlib import Path

from sqlalchemy import Engine

from ..models.blobs.place import Blobs, artefact_name
from ..models.errors import BlobError, DesignError, LedgerError
from ..models.ledger.open_work import blobs_of
from ..models.ledger.reading import AttemptLine, attempts
from ..models.message import Artefact, AttemptRecord
from .fleet_view import open_ledger
from .trial import the_trial


def logs(store: str, attempt: str, blobs: str | None, *, as_json: bool) -> int:
    """Print the logs of an attempt; returns the exit code.

    Args:
        attempt: its id; of a trial, the last attempt is meant.
        blobs: where they lie, if not where the experiment says.
    Raises:
        DesignError: there is no such attempt. LedgerError: nothing came home of it yet.
    """
    engine = open_ledger(store)
    line = _attempt(engine, attempt)
    if line.record is None:
        said = (
            "has not ended; its logs come home with its record"
            if line.verdict is None
            else (f"left no record ({line.cause or line.verdict}: {line.detail})")
        )
        raise LedgerError(f"attempt {line.id} {said}")
    found = kept(line.record, _place(engine, line.record, blobs), _folder(store))
    if as_json:
        texts = {name: text.decode("utf-8", "replace") for name, text in found.items()}
        print(json.dumps({"attempt": line.id, "logs": texts}))
        return 0
    for name, text in found.items():
        sys.stdout.write(f"==> {name} <==\n")
        sys.stdout.flush()
        sys.stdout.buffer.write(text if text.endswith(b"\n") else text + b"\n")
    return 0


def kept(record: AttemptRecord, place: Blobs | None, folder: Path | None) -> dict[str, bytes]:
    """The logs of an attempt by name: whole where they were kept, else the ends in its record.

    Args:
        place: the blobs of its experiment. folder: the artefacts beside its ledger.
    """
    found = {}
    for artefact in record.artefacts:
        text = _whole(artefact, place, folder)
        if text is not None:
            found[artefact.name.partition("/")[2]] = text
    for name, stream in (("agent", record.logs.agent), ("verifier", record.logs.verifier)):
        if stream.tail and not any(key.startswith(f"{name}.") for key in found):
            ends = f"{name} (the last of {stream.total_bytes} bytes)"
            found[ends] = stream.tail.encode("utf-8", "surrogateescape")
    return found


def _whole(artefact: Artefact, place: Blobs | None, folder: Path | None) -> bytes | None:
    try:
        if place is not None:
            return place.read(artefact_name(artefact.sha256))
        return (folder / artefact.name).read_bytes() if folder else None
    except (BlobError, OSError) as error:
        print(f"infranoise: {artefact.name}: {error}; what the record holds:", file=sys.stderr)
        return None


def _attempt(engine: Engine, text: str) -> AttemptLine:
    trial = the_trial(engine, text)
    lines = {line.id: line for line in attempts(engine, trial.experiment, trial=trial.id)}
    if text in lines:
        return lines[text]
    if not lines or text.partition(".")[2]:
        known = ", ".join(lines) or "none yet"
        raise DesignError(f"no attempt {text!r}; the attempts of {trial.key.text}: {known}")
    return list(lines.values())[-1]


def _place(engine: Engine, record: AttemptRecord, blobs: str | None) -> Blobs | None:
    url = blobs_of(engine, record.experiment)
    return Blobs(blobs or url) if url else None


def _folder(store: str) -> Path | None:
    return None if "://" in store else Path(store).parent / "artefacts"
