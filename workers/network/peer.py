"""A small HTTP server at this node's end of pods' links: something to send to and fetch from.

    GET  /bytes/<n>        n bytes of a known pattern
    POST /bytes?skip=<n>   takes what comes until its end, and tells how fast it came:
                           {"bytes": …, "seconds": …}, the first n bytes left out

It listens on addresses of links only, never on the machine's own.
"""

import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from ...models.errors import StartFailed
from .namespace import at

PATTERN = bytes(range(256)) * 256
PATIENCE_S = 30.0
IP_FREEBIND = 15  # linux/in.h: an address that no link has yet


def pattern_bytes(amount: int, start: int = 0) -> bytes:
    """Bytes of the pattern that the server sends, from `start` on; at most 64 KiB of them."""
    offset = start % len(PATTERN)
    return (PATTERN[offset:] + PATTERN[:offset])[:amount]


class _Handler(BaseHTTPRequestHandler):
    timeout = PATIENCE_S
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        """Send what is asked for."""
        kind, _, amount = self.path.strip("/").partition("/")
        if kind != "bytes" or not amount.isdecimal():
            self.send_error(404, "GET /bytes/<how many>")
            return
        left = int(amount)
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", amount)
        self.end_headers()
        while left:
            left -= self.wfile.write(pattern_bytes(left))

    def do_POST(self) -> None:
        """Take what comes, and tell its rate."""
        url = urlsplit(self.path)
        skip = int(parse_qs(url.query).get("skip", ["0"])[0])
        length = self.headers.get("Content-Length")
        counted, since, until = self._drain(skip, None if length is None else int(length))
        answer = json.dumps({"bytes": counted, "seconds": until - since}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _drain(self, skip: int, length: int | None) -> tuple[int, float, float]:
        total, counted, since = 0, 0, time.monotonic()
        until = since
        while length is None or total < length:
            piece = self.connection.recv(min(1 << 16, (length or 1 << 30) - total))
            if not piece:
                break
            total, until = total + len(piece), time.monotonic()
            if total <= skip:
                since = until
            else:
                counted += len(piece)
        return counted, since, until

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: requests of pods are no news."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
        super().server_bind()

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: a pod may hang up at any time."""


class Peer:
    """The servers of one worker, one for each address, started when first asked for.

    Args:
        namespace: a descriptor of the network that they are to be in; None: this worker's own.
    """

    def __init__(self, namespace: int | None = None) -> None:
        self._namespace = namespace
        self._lock = threading.Lock()
        self._servers: dict[str, _Server] = {}

    def port(self, address: str) -> int:
        """The port at which this node answers at an address.

        Raises:
            StartFailed: the address cannot be listened on.
        """
        with self._lock:
            if address not in self._servers:
                self._servers[address] = self._listen(address)
            return int(self._servers[address].server_address[1])

    def url(self, address: str) -> str:
        """Where pods find the server, without a slash at its end; raises as `port`."""
        return f"http://{address}:{self.port(address)}"

    def close(self) -> None:
        """Stop listening."""
        with self._lock:
            for server in self._servers.values():
                server.shutdown()
                server.server_close()
            self._servers.clear()

    def _listen(self, address: str) -> _Server:
        try:
            server = at(self._namespace, lambda: _Server((address, 0), _Handler))
        except OSError as error:
            raise StartFailed(
                f"nothing can listen at {address}, this node's end of pods' links: {error}"
            ) from error
        threading.Thread(target=server.serve_forever, daemon=True, name=f"peer {address}").start()
        return server
