"""The two outputs of a command, taken apart again."""

from ..tail import Tail

STDOUT, STDERR = 1, 2
FRAME_HEADER_BYTES = 8


class Frames:
    """Takes the engine's stream apart: 8 bytes of header (stream, 3 zero bytes, length), then
    that many bytes. Pieces may end anywhere.

    Source: Docker Engine API, "Attach to a container", stream format.
    """

    def __init__(self, out: Tail, err: Tail) -> None:
        self._tails = {STDOUT: out, STDERR: err}
        self._header = bytearray()
        self._left_bytes = 0
        self._tail = out

    def feed(self, piece: bytes) -> None:
        """Take the next piece of the stream."""
        view = memoryview(piece)
        while view:
            if self._left_bytes:
                part = view[: self._left_bytes]
                self._tail.feed(part)
                self._left_bytes -= len(part)
                view = view[len(part) :]
            else:
                view = self._head(view)

    def _head(self, view: memoryview) -> memoryview:
        missing = FRAME_HEADER_BYTES - len(self._header)
        self._header += view[:missing]
        if len(self._header) == FRAME_HEADER_BYTES:
            self._tail = self._tails.get(self._header[0], self._tails[STDOUT])
            self._left_bytes = int.from_bytes(self._header[4:], "big")
            self._header.clear()
        return view[missing:]
