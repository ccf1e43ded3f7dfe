"""A worker of our own for one run on this machine.

Its standard input is its tether: when that closes (we ask it to stop, or we are gone), it removes
its pods and exits.
"""

import os
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..models.errors import BrokerError

STOP_WITHIN_S = 20.0
CORES_PER_SLOT = 1024


class OwnWorker:
    """One Celery worker process."""

    def __init__(
        self, environ: Mapping[str, str], log: Path, without: Collection[str] = ()
    ) -> None:
        self.log = log
        self._output: IO[bytes] = log.open("ab")
        inherited = {k: v for k, v in os.environ.items() if k not in without}
        self._process = subprocess.Popen(
            [
                sys.executable,
                *("-m", "celery", "-A", "infranoise.workers.app", "worker"),
                *("--pool", "threads", "--loglevel", "WARNING"),
                *("--hostname", f"{environ['INFRANOISE_NODE']}@infranoise"),
                *("--without-gossip", "--without-mingle", "--heartbeat-interval", "10"),
            ],
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env={**inherited, **environ, "INFRANOISE_TETHERED": "1"},
            start_new_session=True,
        )

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def last_words(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-2000:]

    def stop(self) -> None:
        """Ask it to remove its pods and exit, then make sure that it did."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()


@contextmanager
def own_worker(
    broker: str,
    node: str,
    slots: int,
    folder: Path,
    environ: Mapping[str, str],
    without: Collection[str] = (),
) -> Iterator[OwnWorker]:
    """A worker on this machine while inside.

    Args:
        environ: what its environment holds beside ours. without: what of ours it must not hold.
    Raises:
        BrokerError: the worker's log cannot be written.
    """
    variables = {
        **environ,
        "INFRANOISE_BROKER_URL": broker,
        "INFRANOISE_NODE": node,
        "INFRANOISE_SLOTS": str(slots),
        # Whoever runs on one machine says how many run at once; cores are shared among them.
        "INFRANOISE_CPUS": environ.get("INFRANOISE_CPUS", str(slots * CORES_PER_SLOT)),
        "INFRANOISE_ARTEFACTS": str(folder / "artefacts"),
    }
    try:
        worker = OwnWorker(variables, folder / "worker.log", without)
    except OSError as error:
        raise BrokerError(f"the worker could not be started: {error}") from error
    try:
        yield worker
    finally:
        worker.stop()
