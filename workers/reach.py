"""What this node can reach: its name servers, the engine's registries, and hosts that were named.

No host is known here: name servers are the system's, registries the engine's own.
"""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import urlsplit

from .meters.procfs import Files

PATIENCE_S = 1.5
ROOT_NS = b"\0\0\2\0\1"  # a question for the root's name servers: its empty name, NS, IN
DNS_PORT, HTTPS_PORT = 53, 443


def reachable(
    registries: Iterable[str] = (), named: Iterable[str] = (), files: Files | None = None
) -> dict[str, bool]:
    """Whether each answers; waits `PATIENCE_S` for all of them together.

    Args:
        registries: URLs or names of registries. named: `host:port` each.
        files: the kernel's and the system's files.
    """
    checks: dict[str, Callable[[], bool]] = {}
    for server in name_servers(files or Files()):
        checks[f"name server {server}"] = _check(_answers_dns, server)
    for registry in registries:
        host, port = address(registry, HTTPS_PORT)
        checks[f"registry {host}:{port}"] = _check(_connects, host, port)
    for one in named:
        host, port = address(one, HTTPS_PORT)
        checks[f"{host}:{port}"] = _check(_connects, host, port)
    return _together(checks)


def name_servers(files: Files) -> tuple[str, ...]:
    """The addresses in resolv.conf."""
    lines = (line.split() for line in (files.text("etc/resolv.conf") or "").splitlines())
    return tuple(words[1] for words in lines if len(words) > 1 and words[0] == "nameserver")


def address(text: str, default_port: int) -> tuple[str, int]:
    """(host, port) of a URL, of `host:port`, or of a host.

    >>> address("https://registry.example/v2/", 443), address("mirror:5000", 443)
    (('registry.example', 443), ('mirror', 5000))
    """
    parts = urlsplit(text if "://" in text else f"//{text}")
    return parts.hostname or text, parts.port or default_port


def _check(call: Callable[..., bool], *words: object) -> Callable[[], bool]:
    return lambda: call(*words)


def _together(checks: Mapping[str, Callable[[], bool]]) -> dict[str, bool]:
    """Run all at once, each in a thread: the system's resolver knows no patience of its own."""
    found = dict.fromkeys(checks, False)

    def run(name: str) -> None:
        found[name] = checks[name]()

    threads = [threading.Thread(target=run, args=(name,), daemon=True) for name in checks]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + PATIENCE_S
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return dict(found)


def _connects(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), PATIENCE_S).close()
    except OSError:
        return False
    return True


def _answers_dns(server: str) -> bool:
    """Whether any answer comes to a question; what it says does not matter."""
    question = struct.pack(">HHHHHH", 0x6E66, 0x0100, 1, 0, 0, 0) + ROOT_NS
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.settimeout(PATIENCE_S)
            asking.connect((server, DNS_PORT))
            asking.send(question)
            return asking.recv(512)[:2] == question[:2]
    except OSError:
        return False
