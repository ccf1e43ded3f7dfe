"""The end of an output stream, kept within a bound."""

from ...models.execution import Stream


class Tail:
    """Keeps the last `cap_bytes` of what is fed to it, and counts all of it.

    The buffer is cut back only when it has doubled, so that a byte is moved about once however
    long the stream is.
    """

    __slots__ = ("_cap_bytes", "_kept", "total_bytes")

    def __init__(self, cap_bytes: int) -> None:
        self._cap_bytes = cap_bytes
        self._kept = bytearray()
        self.total_bytes = 0

    def feed(self, piece: bytes | memoryview) -> None:
        """Take the next piece of the stream."""
        self.total_bytes += len(piece)
        self._kept += piece[-self._cap_bytes :] if self._cap_bytes else b""
        if len(self._kept) > 2 * self._cap_bytes:
            del self._kept[: -self._cap_bytes]

    def stream(self) -> Stream:
        """What was kept, as text; bytes that are no UTF-8 read as U+FFFD."""
        kept = self._kept[-self._cap_bytes :] if self._cap_bytes else b""
        return Stream(
            tail=kept.decode("utf-8", "replace"),
            total_bytes=self.total_bytes,
            truncated=self.total_bytes > len(kept),
        )
