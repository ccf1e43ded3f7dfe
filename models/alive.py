"""A file that a process touches while it works, for whoever watches it from outside.

Looking at a file's age costs nothing; a program of ours that asked would cost the node more than a
whole worker does.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Alive:
    """The file, if one is wanted. A full disk must not stop the work: what fails shows by age."""

    file: Path | None = None

    def touch(self) -> None:
        """Say that the process works."""
        if self.file is not None:
            with suppress(OSError):
                self.file.touch()
