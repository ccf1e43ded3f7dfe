"""Kept files of attempts: what agent and verifier printed, in a folder of this machine."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..models.execution import ExecResult
from ..models.message import Artefact


@dataclass(frozen=True, slots=True)
class Artefacts:
    """A folder that keeps one sub-folder an attempt. Sizes are bounded by the pods' output cap."""

    folder: Path

    def keep(self, attempt: str, phases: Mapping[str, ExecResult]) -> tuple[Artefact, ...]:
        """Write each phase's streams, empty ones left out."""
        kept = []
        for phase, result in phases.items():
            for stream in ("stdout", "stderr"):
                text = getattr(result, stream).tail
                if text:
                    kept.append(self._write(attempt, f"{phase}.{stream}", text))
        return tuple(kept)

    def _write(self, attempt: str, name: str, text: str) -> Artefact:
        content = text.encode("utf-8", "surrogateescape")
        folder = self.folder / attempt
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        return Artefact(
            name=f"{attempt}/{name}",
            sha256=hashlib.sha256(content).hexdigest(),
            size_bytes=len(content),
        )
