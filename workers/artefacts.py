"""Kept files of attempts: what agent and verifier printed, and what an agent keeps itself.

On one machine they lie in a folder of the run, one sub-folder an attempt; in a fleet in the blob
place, by content. Each is bounded: its end is kept, where faults are.
"""

import hashlib
import itertools
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..models.blobs.place import Blobs, artefact_name
from ..models.errors import BlobError
from ..models.execution import ExecResult
from ..models.message import Artefact

LIMIT_BYTES = 8 * 1024 * 1024
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Artefacts:
    """Where files of attempts are kept: a folder of this machine, or None for blobs alone."""

    folder: Path | None = None

    def keep(
        self,
        attempt: str,
        phases: Mapping[str, ExecResult],
        blobs: Blobs | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> tuple[Artefact, ...]:
        """Keep each phase's streams, empty ones left out, and further files by name.

        What cannot be kept is left out and logged: the attempt's outcome stands without it.

        Args:
            blobs: where they go by content; None: into the folder, if there is one.
        """
        if blobs is None and self.folder is None:
            return ()
        more = ((name, content[-LIMIT_BYTES:]) for name, content in (files or {}).items())
        return tuple(self._kept(attempt, itertools.chain(_streams(phases), more), blobs))

    def _kept(
        self, attempt: str, contents: Iterable[tuple[str, bytes]], blobs: Blobs | None
    ) -> Iterator[Artefact]:
        for name, content in contents:
            sha256 = hashlib.sha256(content).hexdigest()
            try:
                if blobs is not None:
                    blobs.put(artefact_name(sha256), content)
                elif self.folder is not None:
                    _write(self.folder / attempt, name, content)
            except (BlobError, OSError) as error:
                log.warning("%s of attempt %s could not be kept: %s", name, attempt, error)
                continue
            yield Artefact(name=f"{attempt}/{name}", sha256=sha256, size_bytes=len(content))


def _streams(phases: Mapping[str, ExecResult]) -> Iterator[tuple[str, bytes]]:
    for phase, result in phases.items():
        for name, stream in (("stdout", result.stdout), ("stderr", result.stderr)):
            if stream.tail:
                content = stream.tail.encode("utf-8", "surrogateescape")
                yield f"{phase}.{name}", content[-LIMIT_BYTES:]


def _write(folder: Path, name: str, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)
