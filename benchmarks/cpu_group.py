"""A cgroup that only counts CPU: of whatever is put into it, and of all that comes of that."""

import os
import time
from pathlib import Path


class CpuGroup:
    """A group of version 1 or 2. Put processes in while they are young."""

    def __init__(self, name: str) -> None:
        v1 = Path("/sys/fs/cgroup/cpuacct")
        self._v1 = v1.is_dir()
        self._path = (v1 if self._v1 else Path("/sys/fs/cgroup")) / f"{name}-{os.getpid()}"

    def __enter__(self) -> "CpuGroup":
        self._path.mkdir()
        return self

    def __exit__(self, *exc: object) -> None:
        for _ in range(100):
            try:
                self._path.rmdir()
                return
            except OSError:
                time.sleep(0.05)

    def join(self) -> list[str]:
        """The words of a shell that joins the group and becomes a command."""
        joined = self._path / ("tasks" if self._v1 else "cgroup.procs")
        return ["sh", "-c", f'echo 0 > {joined} && exec "$@"', "sh"]

    def take(self, pid: int) -> None:
        """Put a process in, with all its threads; its children follow when they are made."""
        (self._path / "cgroup.procs").write_text(str(pid))

    def cpu_s(self) -> float:
        """CPU seconds of all that ever ran in it."""
        if self._v1:
            return int((self._path / "cpuacct.usage").read_text()) / 1e9
        stat = dict(line.split() for line in (self._path / "cpu.stat").read_text().splitlines())
        return int(stat["usage_usec"]) / 1e6
