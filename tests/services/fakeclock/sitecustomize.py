"""A clock that a test can set: `time.time` runs ahead by the seconds that a file holds.

It is for processes that are started with this folder on their PYTHONPATH and with
INFRANOISE_TEST_CLOCK naming the file. The monotonic clock is left alone, as a real jump leaves it.
"""

import contextlib
import os
import time
from pathlib import Path

_FILE = os.environ.get("INFRANOISE_TEST_CLOCK")
_real, _monotonic = time.time, time.monotonic
_read_at, _ahead_s = -1.0, 0.0


def _fake() -> float:
    global _read_at, _ahead_s
    if _FILE and _monotonic() - _read_at > 0.2:
        _read_at = _monotonic()
        with contextlib.suppress(OSError, ValueError):
            _ahead_s = float(Path(_FILE).read_text())
    return _real() + _ahead_s


if _FILE:
    time.time = _fake
