"""The first bytes that a program sends to a host: whom it says that it means. Pure.

TLS says it in its server name, HTTP/1 in its Host header. Other protocols say nothing.
"""

import re
import ssl
from dataclasses import dataclass, field

TLS_HANDSHAKE = 0x16
LONGEST_HEAD = 64 * 1024
LONGEST_HELLO = 64 * 1024
LONGEST_LINE = 16 * 1024
METHOD = re.compile(rb"[A-Z][A-Z-]{0,19}( [^\r\n]*)?")
LINE = re.compile(rb"[A-Z][A-Z-]{0,19} \S+ HTTP/\d\.\d\r?")
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
    """What a program sends first to the host `name`, until it is known whom it means."""

    name: str
    port: int
    _held: bytearray = field(default_factory=bytearray)
    _hello: "_Hello | None" = None

    def take(self, piece: bytes) -> bytes | None:
        """Take more of it. What is to be sent on, once all is known; None: more is needed.

        Raises:
            Refuse: it means another host, or cannot be understood.
        """
        self._held += piece
        held = bytes(self._held)
        if held[0] == TLS_HANDSHAKE:
            return self._tls(piece, held)
        line, ended, _ = held.partition(b"\n")
        if not ended and len(held) < LONGEST_LINE and METHOD.fullmatch(line.rstrip(b"\r")):
            return None
        return self._http(held) if LINE.fullmatch(line) else held

    def _tls(self, piece: bytes, held: bytes) -> bytes | None:
        self._hello = self._hello or _Hello()
        if not self._hello.take(piece):
            if len(held) > LONGEST_HELLO:
                raise Refuse("malformed")
            return None
        said = self._hello.name
        if said is not None and _without_port(said) != self.name:
            raise Refuse("server name", said)
        return held

    def _http(self, held: bytes) -> bytes | None:
        head, ended, body = _head(held)
        if not ended:
            return None
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


def _head(held: bytes) -> tuple[bytes, bool, bytes]:
    found = re.search(rb"\r?\n\r?\n", held)
    if found is None:
        if len(held) > LONGEST_HEAD:
            raise Refuse("malformed")
        return held, False, b""
    if found.start() > LONGEST_HEAD:
        raise Refuse("malformed")
    return held[: found.start()], True, held[found.end() :]


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
