"""A link of our own between two processes: it can be reset, and it can hold what is sent."""

import contextlib
import select
import socket
import struct
import threading

PIECE_BYTES = 65536
RESET = struct.pack("ii", 1, 0)  # close with a reset instead of a farewell


class TcpProxy:
    """Passes on what comes to its port, both ways, until it is told otherwise."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._lock = threading.Lock()
        self._flows = threading.Event()
        self._flows.set()
        self._thread(self._accept)

    def reset(self) -> int:
        """Reset every connection; how many there were."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            for end in pair:
                _drop(end)
        return len(pairs)

    def hold(self) -> None:
        """Let nothing through: connections stand, new ones are taken and not passed on."""
        self._flows.clear()

    def flow(self) -> None:
        """Let everything through again, also what was held."""
        self._flows.set()

    def close(self) -> None:
        """End it."""
        self._server.close()
        self.flow()
        self.reset()

    def _thread(self, work: object, *words: object) -> None:
        threading.Thread(target=work, args=words, daemon=True).start()  # type: ignore[arg-type]

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                self._thread(self._serve, near)

    def _serve(self, near: socket.socket) -> None:
        self._flows.wait()
        try:
            far = socket.create_connection(self._target, 5)
        except OSError:
            _drop(near)
            return
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.settimeout(None)
        pair = (near, far)
        with self._lock:
            self._pairs.add(pair)
        try:
            self._pass_on(near, far)
        except (OSError, ValueError):  # a reset, by us or by one of the ends
            pass
        finally:
            with self._lock:
                self._pairs.discard(pair)
            for end in pair:
                end.close()

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        other = {near: far, far: near}
        while True:
            for end in select.select(list(other), (), ())[0]:
                piece = end.recv(PIECE_BYTES)
                self._flows.wait()
                if not piece:
                    return
                other[end].sendall(piece)


def _drop(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        end.shutdown(socket.SHUT_RDWR)
        end.close()
