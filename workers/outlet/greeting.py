"""The first bytes that a program sends to a host: whom it says that it means. Pure.

TLS says it in its server name, HTTP/1 in its Host header. Other protocols say nothing.
"""

import re
import ssl
from dataclasses import dataclass, field

TLS_HANDSHAKE = 0x16
LONGEST_HEAD, LONGEST_LINE, SHORT = 64 * 1024, 16 * 1024, 24
END_OF_HEAD = b"\r\n\r\n"
END = re.compile(rb"\r?\n\r?\n")
METHOD = re.compile(rb"[A-Za-z][A-Za-z-]{0,19}([ \t\r]|$)")
LINE = re.compile(rb"[A-Z][A-Z-]{0,19} [!-~]+ HTTP/1\.[01]\r?")
VERSION = re.compile(rb"HTTP/", re.IGNORECASE)
URL = re.compile(rb"(?i:http)://(?P<authority>[^/?#@]+)(?P<rest>[/?#].*|)")
TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"upgrade", b"te"}
)


class Refuse(Exception):
    """What was sent is not let through. `how` is a word of `models.egress_seen.RefusedAs`, `to`
    whom it was meant for; "": nobody knows."""

    def __init__(self, how: str, to: str = "") -> None:
        super().__init__(f"{how} {to}".strip())
        self.how, self.to = how, to


@dataclass(slots=True)
class Greeting:
    """What a program sends first to the host `name`, until it is known whom it means.

    However small the pieces are in which it comes, each byte is looked at a few times at most.
    """

    name: str
    port: int
    _held: bytearray = field(default_factory=bytearray)
    _skipped: bytearray = field(default_factory=bytearray)
    _hello: "_Hello | None" = None
    _in_head: bool = False

    def take(self, piece: bytes) -> bytes | None:
        """Take more of it. What is to be sent on, once all is known; None: more is needed.

        Raises:
            Refuse: it means another host, or cannot be understood.
        """
        new = len(self._held)
        self._held += piece
        if not self._in_head:
            self._skip()
        if not self._held:
            return None if len(self._skipped) < LONGEST_LINE else self._whole()
        if self._held[0] == TLS_HANDSHAKE and not self._skipped:
            return self._tls(piece)
        if not self._in_head:
            end = self._held.find(b"\n", max(0, new - 1))
            if end < 0 and len(self._held) < LONGEST_LINE and METHOD.match(self._held[:SHORT]):
                return None
            line = bytes(self._held if end < 0 else self._held[:end])
            if VERSION.search(line) is None:
                return self._whole()
            if LINE.fullmatch(line) is None:
                raise Refuse("malformed")
            self._in_head, new = True, 0
        return self._http(max(0, new - len(END_OF_HEAD)))

    def _skip(self) -> None:
        """Put empty lines aside: HTTP's servers let them go by, so they are no disguise."""
        while self._held.startswith((b"\r", b"\n")):
            kept = self._held.lstrip(b"\r\n")
            self._skipped += self._held[: len(self._held) - len(kept)]
            self._held = kept

    def _whole(self) -> bytes:
        return bytes(self._skipped + self._held)

    def _tls(self, piece: bytes) -> bytes | None:
        self._hello = self._hello or _Hello()
        if not self._hello.take(piece):
            if len(self._held) > LONGEST_HEAD:
                raise Refuse("malformed")
            return None
        said = self._hello.name
        if said is not None and _without_port(said) != self.name:
            raise Refuse("server name", said)
        return self._whole()

    def _http(self, start: int) -> bytes | None:
        """The request, once its head is whole; searched from `start` on."""
        found = END.search(self._held, start)
        if (found.start() if found else len(self._held)) > LONGEST_HEAD:
            raise Refuse("malformed")
        if found is None:
            return None
        head, body = bytes(self._held[: found.start()]), bytes(self._held[found.end() :])
        return rewritten(head, f"{self.name}:{self.port}", self.name) + body


class _Hello:
    """A ClientHello, read by OpenSSL: a server's side of a handshake that goes no further."""

    def __init__(self) -> None:
        self.name: str | None = None
        self._whole = False
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = self._told
        self._in = ssl.MemoryBIO()
        self._side = context.wrap_bio(self._in, ssl.MemoryBIO(), server_side=True)

    def take(self, piece: bytes) -> bool:
        """Take more of it; whether it is whole.

        Raises:
            Refuse: it is none.
        """
        self._in.write(piece)
        try:
            self._side.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError:
            pass
        if not self._whole:
            raise Refuse("malformed")
        return True

    def _told(self, side: object, name: str | None, context: object) -> int:
        self.name, self._whole = name, True
        return int(ssl.ALERT_DESCRIPTION_INTERNAL_ERROR)


def rewritten(head: bytes, authority: str, name: str) -> bytes:
    """A request's head for its host alone: it names that, and is the last on its connection (a
    later one might name another host).

    Args:
        authority: the host with its port; name: the host.
    Raises:
        Refuse: it names another host, or could be read in two ways.
    """
    first, *rest = [line.removesuffix(b"\r") for line in head.split(b"\n")]
    first = _for_origin(first, name)
    hosts, kept = [], []
    for line in rest:
        key, colon, value = line.partition(b":")
        if not colon or not TOKEN.fullmatch(key) or b"\r" in value:
            raise Refuse("malformed")
        if key.lower() == b"host":
            hosts.append(value.strip().decode("latin-1"))
        elif key.lower() not in HOP:
            kept.append(line)
    if len(hosts) > 1:
        raise Refuse("malformed")
    if hosts and _without_port(hosts[0]) != name:
        raise Refuse("host header", hosts[0])
    told = [b"Host: " + (hosts[0] if hosts else authority).encode("latin-1"), b"Connection: close"]
    return b"\r\n".join((first, *told, *kept, b"", b""))


def _for_origin(first: bytes, name: str) -> bytes:
    """A request's first line as the host itself takes it: a whole URL there outweighs the Host."""
    method, target, version = first.split(b" ")
    whole = URL.fullmatch(target)
    if whole is not None:
        said = whole["authority"].decode("latin-1")
        if _without_port(said) != name:
            raise Refuse("host header", said)
        target = whole["rest"] if whole["rest"].startswith(b"/") else b"/" + whole["rest"]
    if not target.startswith((b"/", b"*")):
        raise Refuse("malformed")
    return b" ".join((method, target, version))


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    text = name if colon and port.isdecimal() else host
    return text.lower().removesuffix(".")
