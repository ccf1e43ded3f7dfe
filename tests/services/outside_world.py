"""A host of the outside, on loopback: it answers HTTP and remembers what reached it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY = b"from the outside " * 1000


@dataclass
class Outside:
    """What the host was asked, each with its Host header, at its port."""

    port: int
    asked: list[tuple[str, str]] = field(default_factory=list)
    connections: int = 0


@contextmanager
def outside(address: str = "127.0.0.1") -> Iterator[Outside]:
    """A host while inside."""
    told = Outside(0)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            told.connections += 1
            super().setup()

        def do_GET(self) -> None:
            told.asked.append((self.path, self.headers["Host"]))
            size = int(self.path[1:]) if self.path[1:].isdecimal() else len(BODY)
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.end_headers()
            self.wfile.write((BODY * (size // len(BODY) + 1))[:size])

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer((address, 0), Handler)
    server.daemon_threads = True
    told.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
