"""The disk space that a container has written: measured from outside, and bounded by watching.

The engine's own quota needs XFS with project quotas, which few hosts have. So the writable layer
is measured, and a pod that has written too much loses its processes.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from ..disk_use import allocated_bytes

WALK_SHARE = 0.01  # of the time, at most, is spent on measuring
LONGEST_UNSEEN_S = 5.0


class Layer:
    """The folders that a container writes to, and whether they outgrew a ceiling.

    Counting a large tree is dear, so it is counted only when it can have outgrown the ceiling:
    when the whole file system has filled by what was left, or when it has not been looked at for
    long (a neighbour may have freed space meanwhile).
    """

    def __init__(self, folders: Sequence[Path], ceiling_bytes: int | None) -> None:
        self._folders = folders
        self._ceiling_bytes = ceiling_bytes
        self._next_s = 0.0
        self._alarm_bytes = 0
        self.exceeded = False

    @staticmethod
    def readable(folders: Sequence[Path]) -> bool:
        """Whether this user may look into all of them."""
        return bool(folders) and all(os.access(folder, os.R_OK | os.X_OK) for folder in folders)

    def used_bytes(self) -> int:
        """What is allocated now."""
        return allocated_bytes(self._folders)

    def outgrown(self) -> bool:
        """Whether the ceiling has just been exceeded, for the first time."""
        if self._ceiling_bytes is None or self.exceeded or not self._due():
            return False
        started = time.monotonic()
        used_bytes = self.used_bytes()
        now = time.monotonic()
        self._next_s = now + max(LONGEST_UNSEEN_S, (now - started) / WALK_SHARE)
        self._alarm_bytes = self._filled_bytes() + self._ceiling_bytes - used_bytes
        self.exceeded = used_bytes > self._ceiling_bytes
        return self.exceeded

    def _due(self) -> bool:
        return self._filled_bytes() >= self._alarm_bytes or time.monotonic() >= self._next_s

    def _filled_bytes(self) -> int:
        filesystem = os.statvfs(self._folders[0])
        return (filesystem.f_blocks - filesystem.f_bfree) * filesystem.f_frsize
