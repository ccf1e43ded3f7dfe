"""Inspect: `.eval` archives and `.json` logs, sample by sample.

Of an archive the summaries are read, which hold all that counts; a sample itself only where it was
retried, for the errors before its last attempt, or where the log is older than summaries are.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..models.errors import SourceFault
from ..models.foreign import ForeignTrial
from .bounded import files, folders
from .eval_archive import EvalArchive
from .fields import count, items, part, word
from .inspect_eval import Eval, eval_of
from .inspect_said import Tally, lacking, totals
from .inspect_sample import trial_of
from .json_bounded import Object
from .json_stream import as_object, walk
from .reading import Account, Choices, Importer, Unit

HEAD, START, SUMMARIES = "header.json", "_journal/start.json", "summaries.json"
JOURNAL = re.compile(r"_journal/summaries/(\d+)\.json\Z")
SAMPLE = re.compile(r"samples/.+\.json\Z")
PIECE = 256 * 1024
DEEPEST = 6


def read_inspect(paths: Sequence[Path], choices: Choices, account: Account) -> Iterator[Unit]:
    """The samples of every log at or below some paths, one streamed unit a log."""
    log = _Logs(choices, account)
    for path in paths:
        for found in logs_in(path, account.faults):
            read = log.archive if found.suffix == ".eval" else log.document
            yield Unit(found, read(found), streamed=True)
    account.lacks(
        "samples that never ended",
        "the logs that were cut off list them and hold nothing of them; they are not counted",
        log.never_ended,
    )
    lacking(account, log.seen, log.unfinished, log.invalidated)


class _Logs:
    """Reads logs and keeps count over all of them."""

    def __init__(self, choices: Choices, account: Account) -> None:
        self._choices, self._account = choices, account
        self.seen, self.unfinished, self.invalidated = Tally(), 0, 0
        self.never_ended = 0

    def archive(self, path: Path) -> Iterator[ForeignTrial]:
        """The trials of a `.eval` log."""
        with EvalArchive(path) as archive:
            names = archive.names
            head = dict(walk(path, archive.pieces(HEAD if HEAD in names else START), place=HEAD))
            told = eval_of(path, head, self._choices)
            tally = Tally()
            for raw in _summaries(path, archive):
                errors = _retries(path, archive, raw)
                trial = trial_of(path, raw, told, errors, self._choices)
                tally.add(trial)
                yield trial
            self._done(told, head, tally, archive.digest())

    def document(self, path: Path) -> Iterator[ForeignTrial]:
        """The trials of a `.json` log, whose head stands before its samples."""
        digest = hashlib.sha256()
        head: dict[str, object] = {}
        told: Eval | None = None
        tally = Tally()
        for key, value in walk(path, _pieces(path, digest), frozenset({"samples"})):
            if key != "samples":
                head[key] = value
                continue
            told = told or eval_of(path, head, self._choices)
            raw = as_object(path, "samples", value)
            trial = trial_of(path, raw, told, _messages(path, raw), self._choices)
            tally.add(trial)
            yield trial
        told = told or eval_of(path, head, self._choices)
        self._done(told, head, tally, digest.digest())

    def _done(self, told: Eval, head: Object, tally: Tally, digest: bytes) -> None:
        self._account.saw(digest)
        self._account.harnesses[told.harness] += 1
        self._account.totals += totals(told, tally)
        self.seen += tally
        self.unfinished += not told.ended
        if not told.ended and told.planned is not None:
            self.never_ended += max(0, told.planned - tally.samples)
        self.invalidated += head.get("invalidated") is True


def logs_in(path: Path, faults: list[SourceFault], depth: int = DEEPEST) -> Iterator[Path]:
    """The logs at or below a path."""
    if path.is_file():
        yield path
        return
    for file in files(path, faults):
        if file.suffix == ".eval" or (file.suffix == ".json" and _is_log(file)):
            yield file
    for below in folders(path, faults) if depth else ():
        yield from logs_in(below, faults, depth - 1)


def knows_inspect(path: Path) -> bool:
    """The path is a log of Inspect, or a folder with one."""
    if path.is_file():
        return path.suffix == ".eval" or (path.suffix == ".json" and _is_log(path))
    return next(logs_in(path, [], 1), None) is not None


def _is_log(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except OSError:
        return False
    return b'"eval"' in start and b'"status"' in start and b'"version"' in start


def _pieces(path: Path, digest: "hashlib._Hash") -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                digest.update(piece)
                yield piece
    except OSError as error:
        raise SourceFault(path, "", f"cannot be read: {error.strerror or error}") from error


def _summaries(path: Path, archive: EvalArchive) -> Iterator[Object]:
    """The summaries of all samples; of an old log the samples themselves."""
    journal = sorted(filter(JOURNAL.match, archive.names), key=_number)
    parts = [SUMMARIES] if SUMMARIES in archive.names else journal
    if not parts:
        for name in filter(SAMPLE.match, archive.names):
            yield dict(walk(path, archive.pieces(name), place=name))
    for name in parts:
        for _, item in walk(path, archive.pieces(name), place=name):
            yield as_object(path, name, item)


def _number(name: str) -> int:
    match = JOURNAL.match(name)
    return int(match[1]) if match else 0


def _retries(path: Path, archive: EvalArchive, raw: Object) -> Sequence[str]:
    """Messages of the errors before a sample's last attempt; "" for each one that is not kept."""
    if "error_retries" in raw:
        return _messages(path, raw)
    retries = count(raw.get("retries")) or 0
    if not retries:
        return ()
    name = f"samples/{raw.get('id')}_epoch_{raw.get('epoch')}.json"
    if name not in archive.names:
        return [""] * retries
    lists = frozenset({"error_retries", "events", "messages"})
    found = [
        word(part(path, name, value).get("message"))
        for key, value in walk(path, archive.pieces(name), lists, place=name)
        if key == "error_retries" and value is not None
    ]
    return found or [""] * retries


def _messages(path: Path, raw: Object) -> Sequence[str]:
    listed = items(path, "error_retries", raw.get("error_retries"))
    return [word(part(path, "error_retries", one).get("message")) for one in listed]


INSPECT = Importer("inspect", read_inspect, ("concurrency",), knows_inspect)
