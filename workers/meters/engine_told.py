"""What a Docker engine of this machine says of itself, asked in one plain request.

The SDK would cost a fifth of a second of CPU to import, in every worker that never makes a
container.
"""

import http.client
import json
import socket
from dataclasses import dataclass
from pathlib import Path

SOCKET = Path("/var/run/docker.sock")
PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class EngineTold:
    """Versions by name, and the registries (URLs or names) that the engine would pull from."""

    versions: dict[str, str]
    registries: tuple[str, ...]


class _Local(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=PATIENCE_S)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket file."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(str(self._path))


def ask_engine(path: Path = SOCKET) -> EngineTold | None:
    """Ask the engine behind a socket; None where none answers."""
    connection = _Local(path)
    try:
        connection.request("GET", "/info")
        told = json.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    return engine_told(told) if isinstance(told, dict) and "ServerVersion" in told else None


def engine_told(info: dict[str, object]) -> EngineTold:
    """Read an engine's `info`. Pure."""
    versions = {"docker": str(info["ServerVersion"])}
    for name, key in (("containerd", "ContainerdCommit"), ("runc", "RuncCommit")):
        commit = info.get(key)
        if isinstance(commit, dict) and commit.get("ID"):
            versions[name] = str(commit["ID"])[:12]
    config = info.get("RegistryConfig")
    mirrors = config.get("Mirrors") if isinstance(config, dict) else None
    index = info.get("IndexServerAddress")
    return EngineTold(versions, (*map(str, mirrors or ()), *([str(index)] if index else [])))
