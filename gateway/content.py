"""What was asked and answered, kept where that is asked for: one JSON line a call, by attempt."""

import json
import re
import time
from pathlib import Path

SAFE = re.compile(r"[^\w.-]")


class Content:
    """A folder of contents. Nothing of headers is kept, so no key and no token."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def keep(self, attempt: str, asked: bytes, answered: bytes) -> None:
        """Add a call to its attempt's file."""
        line = {
            "at": time.time(),
            "asked": asked.decode(errors="replace"),
            "answered": answered.decode(errors="replace"),
        }
        path = self._folder / f"{SAFE.sub('_', attempt)}.jsonl"
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
