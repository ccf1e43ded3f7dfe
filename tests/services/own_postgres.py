"""A PostgreSQL server of our own: a private cluster in a temporary folder, on a unix socket alone.

The server refuses to run as root; where we are root it runs as the user `postgres`, who comes with
the package. Its collation is a language's, as most servers' is: nothing may lean on byte order.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

DEBIAN = Path("/usr/lib/postgresql")
USER = "infranoise"
SETTINGS = ("listen_addresses=", "fsync=off", "shared_buffers=64MB", "max_wal_size=4GB")
PATIENCE_S = 60


def find_postgres() -> Path | None:
    """The folder of the server's programs; None where it is not installed."""
    found = shutil.which("pg_ctl")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(DEBIAN.glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


@dataclass(frozen=True, slots=True)
class OwnPostgres:
    """One cluster: `start` and `stop` it as often as a test wants."""

    programs: Path
    folder: Path

    @property
    def address(self) -> str:
        """Its database, as SQLAlchemy wants it."""
        return f"postgresql+psycopg://{USER}@/postgres?host={self.folder}"

    @property
    def pid(self) -> int:
        """The running server's process."""
        return int((self.folder / "cluster/postmaster.pid").read_text().split()[0])

    def create(self) -> None:
        """Make the cluster's files."""
        collation = ("--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en")
        self._run("initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "-U", USER, *collation)

    def start(self) -> None:
        """Start the server and wait until it takes connections."""
        options = " ".join((f"-k {self.folder}", *(f"-c {setting}" for setting in SETTINGS)))
        self._run("pg_ctl", "start", "-w", "-l", str(self.folder / "log"), "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """Stop the server and wait for its end; `immediate` is a crash."""
        self._run("pg_ctl", "stop", "-w", "-m", mode)

    def _run(self, program: str, *words: str) -> None:
        owner = {"user": "postgres", "group": "postgres", "extra_groups": []} if _root() else {}
        said = self.folder / f"{program}.out"  # a pipe would stay open as long as the server
        with said.open("w") as out:
            ended = subprocess.run(
                [self.programs / program, "-D", self.folder / "cluster", *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                timeout=PATIENCE_S,
                **owner,  # type: ignore[call-overload]
            )
        if ended.returncode:
            raise RuntimeError(f"{program} failed: {said.read_text()}")


@contextmanager
def own_postgres(programs: Path) -> Iterator[OwnPostgres]:
    """A running server, stopped and removed on leaving."""
    folder = Path(tempfile.mkdtemp(prefix="infranoise-pg-", dir="/tmp"))  # short: it holds a socket
    try:
        if _root():
            shutil.chown(folder, "postgres", "postgres")
        server = OwnPostgres(programs, folder)
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _root() -> bool:
    return os.geteuid() == 0
