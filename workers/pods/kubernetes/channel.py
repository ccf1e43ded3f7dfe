"""One exec connection: frames of five channels on a WebSocket, kept alive and watched.

Protocols `v5.channel.k8s.io` and `v4.channel.k8s.io`: the first byte of a frame is its channel.
"""

import json
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

import websocket

from .api import Api, ApiAway

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
KEEP_ALIVE_S = 30.0  # balancers cut an idle connection after 60 s; pings do not count as traffic
STDIN_CHUNK = 256 * 1024
SEND_S = 60.0
USER_TIMEOUT_MS = 60_000  # unacknowledged data for so long is a dead connection
TERMINAL_SIZE = b'\x04{"Width":80,"Height":24}'


class Piece(NamedTuple):
    """What came on one channel."""

    channel: int
    content: bytes


class Ending(NamedTuple):
    """What the error channel said: an exit code, or why there is none."""

    exit_code: int | None
    words: str


class Channel:
    """An exec connection to one container. For one thread, but for what is sent to it.

    Raises:
        ApiRefused, ApiAway: on opening; nothing was run.
    """

    def __init__(self, api: Api, pod_path: str, container: str, argv: list[str]) -> None:
        query = [("command", word) for word in argv]
        query += [("container", container)]
        query += [(name, "true") for name in ("stdin", "stdout", "stderr")]
        self._socket = api.socket(f"{pod_path}/exec", query)
        self._socket.settimeout(SEND_S)
        _keep_watch(self._socket.sock)
        self._kept_alive = time.monotonic()

    def send(self, content: bytes) -> threading.Thread:
        """Send to standard input, in a thread of its own: a command may not read it at all."""
        thread = threading.Thread(target=self._send, args=(content,), daemon=True, name="stdin")
        thread.start()
        return thread

    def pieces(self, patience_s: Callable[[], float]) -> Iterator[Piece | None]:
        """What arrives; None where nothing does; ends when the other side has closed.

        Args:
            patience_s: says how long to wait for the next piece, a second at most.
        Raises:
            ApiAway: the connection broke.
        """
        try:
            while True:
                self._keep_alive()
                if not self._readable(patience_s()):
                    yield None
                    continue
                opcode, frame = self._socket.recv_data_frame(True)
                if opcode == websocket.ABNF.OPCODE_CLOSE:
                    return
                if opcode in (websocket.ABNF.OPCODE_BINARY, websocket.ABNF.OPCODE_TEXT):
                    content = bytes(frame.data)
                    if content and content[0] != CLOSE:
                        yield Piece(content[0], content[1:])
        except (websocket.WebSocketException, OSError, ValueError) as error:
            raise ApiAway(f"the exec connection broke: {error}") from error

    def close(self) -> None:
        """End the connection without waiting for the other side."""
        with suppress(websocket.WebSocketException, OSError):
            self._socket.shutdown()  # type: ignore[no-untyped-call]

    def _send(self, content: bytes) -> None:
        view = memoryview(content)
        # The command may end without reading, which is its right; then the socket closes.
        with suppress(websocket.WebSocketException, OSError, AttributeError):
            for start in range(0, len(view), STDIN_CHUNK):
                self._socket.send_binary(b"\x00" + view[start : start + STDIN_CHUNK])

    def _readable(self, longest_s: float) -> bool:
        if isinstance(self._socket.sock, ssl.SSLSocket) and self._socket.sock.pending():
            return True
        poll = select.poll()
        poll.register(self._socket.fileno(), select.POLLIN)  # type: ignore[no-untyped-call]
        return bool(poll.poll(max(0.0, min(longest_s, 1.0)) * 1000))

    def _keep_alive(self) -> None:
        if time.monotonic() - self._kept_alive >= KEEP_ALIVE_S:
            self._socket.send_binary(TERMINAL_SIZE)
            self._kept_alive = time.monotonic()


def ending(told: bytes) -> Ending:
    """The error channel's JSON as an exit code; None in it: the command did not run to an end.

    >>> ending(b'{"metadata":{},"status":"Success"}').exit_code
    0
    """
    try:
        status = json.loads(told)
        if status["status"] == "Success":
            return Ending(0, "")
        causes = (status.get("details") or {}).get("causes") or ()
        codes = [int(cause["message"]) for cause in causes if cause.get("reason") == "ExitCode"]
        return Ending(codes[0] if codes else None, str(status.get("message", "")))
    except (ValueError, TypeError, KeyError):
        return Ending(None, told.decode("utf-8", "replace"))


def _keep_watch(connection: socket.socket | None) -> None:
    assert connection is not None  # it was connected just now
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)
