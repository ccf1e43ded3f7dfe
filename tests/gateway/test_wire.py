"""HTTP as the gateway speaks it, with both ends in the test's own hands: bytes in, bytes out."""

import gc
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import pytest
from asking import ask, post
from own_gateway import OwnGateway, own_gateway

from infranoise.gateway.back import Flow
from infranoise.gateway.exchange import Exchange
from infranoise.gateway.front import Front
from infranoise.gateway.line import Line
from infranoise.gateway.passage import Passage
from infranoise.models.lease import keys
from infranoise.models.provider import Provider as Declared
from infranoise.scheduler.broker import embedded

BODY = json.dumps({"model": "m", "max_tokens": 9, "messages": []}).encode()
SENT_ON = BODY.replace(b" ", b"").replace(b'"m"', b'"m-2026"')
ANSWER = b'{"usage": {"input_tokens": 1, "output_tokens": 2}}'
SIZED = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(
    ANSWER
)
EVENTS = b'data: {"type": "message_delta", "delta": {}}\n\ndata: {"type": "message_stop"}\n\n'
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"


@dataclass(slots=True)
class RawProvider:
    """A provider that sends these bytes for a request; None closes the connection."""

    url: str = ""
    says: list[bytes | None] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    go_on: threading.Event = field(default_factory=threading.Event)


@contextmanager
def raw_provider() -> Iterator[RawProvider]:
    provider = RawProvider()
    with socket.create_server(("127.0.0.1", 0)) as server:
        provider.url = f"http://127.0.0.1:{server.getsockname()[1]}"
        thread = threading.Thread(target=_accept, args=(server, provider), daemon=True)
        thread.start()
        yield provider
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def _accept(server: socket.socket, provider: RawProvider) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        provider.connections += 1
        threading.Thread(target=_answer, args=(connection, provider), daemon=True).start()


def _answer(connection: socket.socket, provider: RawProvider) -> None:
    with closing(connection), connection.makefile("rb") as lines:
        while request := _request(lines.readline, lines.read):
            provider.requests.append(request)
            for piece in provider.says:
                if piece is None:
                    return
                if piece == b"wait":
                    provider.go_on.wait(20)
                else:
                    connection.sendall(piece)


def _request(line: Callable[[], bytes], read: Callable[[int], bytes]) -> bytes:
    head = b""
    while (one := line()) not in (b"\r\n", b""):
        head += one
    length = next(
        (int(x.split(b":")[1]) for x in head.lower().splitlines() if b"content-length" in x), 0
    )
    return head and head + b"\r\n" + read(length)


@pytest.fixture(scope="module")
def provider() -> Iterator[RawProvider]:
    with raw_provider() as one:
        yield one


@pytest.fixture(scope="module")
def running(provider: RawProvider) -> Iterator[OwnGateway]:
    providers = {
        "maker": Declared(dialect="anthropic", base_url=f"{provider.url}/base/"),
        "any": Declared(dialect="other", base_url=provider.url),
    }
    with embedded() as broker, own_gateway(broker, providers, {}) as gateway:
        yield gateway


@pytest.fixture
def gateway(running: OwnGateway, provider: RawProvider) -> OwnGateway:
    running.client.flushall()
    provider.requests.clear()
    provider.go_on.clear()
    return running


def ending(gateway: OwnGateway) -> str:
    gateway.client.xread({keys.CALLS: "0"}, block=5000)
    (call,) = gateway.calls()
    return call.ending


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


FORMS: dict[str, list[bytes | None]] = {
    "with its length": [SIZED + ANSWER],
    "byte by byte": [bytes([one]) for one in SIZED + ANSWER],
    "after a sign of life": [b"HTTP/1.1 100 Continue\r\n\r\n", SIZED + ANSWER],
    "until the connection closes": [
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + ANSWER,
        None,
    ],
    "of an older protocol": [
        b"HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n" + ANSWER,
        None,
    ],
    "in chunks with a trailer": [
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
        chunk(ANSWER[:7]) + chunk(ANSWER[7:]) + b"0\r\nx-sum: 1\r\n\r\n",
    ],
}


@pytest.mark.parametrize("name", FORMS)
def test_an_answer_passes_in_every_form(
    gateway: OwnGateway, provider: RawProvider, name: str
) -> None:
    provider.says = FORMS[name]
    got = ask(gateway, gateway.token())
    assert (got.status, got.body, got.whole) == (200, ANSWER, True)
    assert ending(gateway) == "complete"
    head = provider.requests[0].split(b"\r\n")
    assert head[0] == b"POST /base/v1/messages HTTP/1.1"
    assert f"host: {provider.url.removeprefix('http://')}".encode() in head


BROKEN: dict[str, tuple[list[bytes | None], str]] = {
    "short of its length": ([SIZED + ANSWER[:-1], None], "cut"),
    "a chunk that is missing": (
        [STREAM + b"transfer-encoding: chunked\r\n\r\n" + chunk(EVENTS[:20]), None],
        "cut",
    ),
    "not HTTP": ([b"SSH-2.0-x\r\n", None], "malformed"),
    "two lengths": (
        [b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 2\r\n\r\nabc"],
        "malformed",
    ),
    "a head without end": ([b"HTTP/1.1 200 OK\r\n", b"x-more: 1\r\n" * 40_000, None], "malformed"),
    "nothing": ([None], "cut"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_answer_that_is_broken_never_looks_whole(
    gateway: OwnGateway, provider: RawProvider, name: str
) -> None:
    provider.says, how = BROKEN[name]
    try:
        got = ask(gateway, gateway.token())
    except ConnectionError:
        pass
    else:
        assert got.status == 502 or not got.whole
    assert ending(gateway) == how
    assert len(provider.requests) == 1


def test_what_comes_after_an_answer_is_nobodys(gateway: OwnGateway, provider: RawProvider) -> None:
    provider.says = [SIZED + ANSWER + SIZED + b"x" * len(ANSWER)]
    token = gateway.token()
    assert [ask(gateway, token).body for _ in range(3)] == [ANSWER] * 3


def test_pieces_go_on_before_the_rest_is_there(gateway: OwnGateway, provider: RawProvider) -> None:
    first, rest = EVENTS[:30], EVENTS[30:]
    provider.says = [
        STREAM + b"transfer-encoding: chunked\r\n\r\n",
        chunk(first),
        b"wait",
        chunk(rest) + b"0\r\n\r\n",
    ]
    with connected(gateway) as client:
        client.sendall(request(gateway.token()))
        seen = b""
        while first not in seen:
            seen += client.recv(4096)
        assert not gateway.calls()  # it is under way
        provider.go_on.set()
        while not seen.endswith(b"0\r\n\r\n"):
            seen += client.recv(4096)
    assert ending(gateway) == "complete"


def test_connections_are_used_again_at_both_ends(
    gateway: OwnGateway, provider: RawProvider
) -> None:
    provider.says, token = [SIZED + ANSWER], gateway.token()
    ask(gateway, token)
    before = provider.connections
    with connected(gateway) as client:
        for _ in range(3):
            client.sendall(request(token))
            read_one(client)
        client.sendall(request(token) * 2)  # and sent before the answer is there
        assert read_one(client, 2).count(ANSWER) == 2
    assert provider.connections - before <= 1  # the first may have been closed meanwhile
    assert len(provider.requests) == 6


def test_a_stream_reaches_a_client_of_the_older_protocol(
    gateway: OwnGateway, provider: RawProvider
) -> None:
    provider.says = [STREAM + b"transfer-encoding: chunked\r\n\r\n" + chunk(EVENTS) + b"0\r\n\r\n"]
    with connected(gateway) as client:
        client.sendall(request(gateway.token()).replace(b"HTTP/1.1", b"HTTP/1.0"))
        got = b""
        while more := client.recv(4096):
            got += more
    assert got.endswith(b"\r\n\r\n" + EVENTS)
    assert b"chunked" not in got


SENT: dict[str, Callable[[bytes], list[bytes]]] = {
    "in chunks": lambda head: [head + b"transfer-encoding: chunked\r\n\r\n", chunk(BODY[:5]),
                               chunk(BODY[5:]) + b"0\r\n\r\n"],
    "byte by byte": lambda head: [bytes([b]) for b in head + SIZE + BODY],
    "after it was told to go on": lambda head: [head + b"expect: 100-continue\r\n" + SIZE, BODY],
}  # fmt: skip
SIZE = b"content-length: %d\r\n\r\n" % len(BODY)


@pytest.mark.parametrize("how", SENT)
def test_a_request_is_taken_however_it_comes(
    gateway: OwnGateway, provider: RawProvider, how: str
) -> None:
    provider.says = [SIZED + ANSWER]
    head = f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {gateway.token()}\r\n".encode()
    with connected(gateway) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for part in SENT[how](head):
            client.sendall(part)
        assert ANSWER in read_one(client)
    assert provider.requests[0].endswith(SENT_ON)


REFUSED = {
    "no HTTP": (b"\x16\x03\x01\x02\x00", b" 400 "),
    "two lengths": (
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        b" 400 ",
    ),
    "another protocol": (
        b"POST / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: h2c\r\ncontent-length: 1\r\n\r\nx",
        b" 501 ",
    ),
    "a head without end": (b"GET / HTTP/1.1\r\n" + b"x-more: 1\r\n" * 40_000, b" 431 "),
    "a body too large": (
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: 70000000\r\n\r\n" + b"x" * 68_000_000,
        b" 413 ",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_request_is_told_so(
    gateway: OwnGateway, provider: RawProvider, name: str
) -> None:
    sent, status = REFUSED[name]
    with connected(gateway) as client:
        threading.Thread(target=_send, args=(client, sent), daemon=True).start()
        assert status in client.recv(4096)
    assert not provider.requests
    assert post(gateway.url, "/infranoise/health", "", b"").json == {"under_way": 0}


def _send(client: socket.socket, sent: bytes) -> None:
    try:
        client.sendall(sent)
    except OSError:
        return  # the gateway has heard enough


def test_a_client_that_reads_slowly_holds_its_provider_back(
    gateway: OwnGateway, provider: RawProvider
) -> None:
    piece = chunk(b"data: " + b"x" * 65_530)
    provider.says = [STREAM + b"transfer-encoding: chunked\r\n\r\n"]
    provider.says += [piece] * 400 + [b"wait", chunk(EVENTS) + b"0\r\n\r\n"]  # 26 MB
    with connected(gateway) as client:
        client.sendall(request(gateway.token()))
        got = len(client.recv(4096))
        held = call_under_way(gateway)
        provider.go_on.set()
        while more := client.recv(1 << 20):
            got += len(more)
            if more.endswith(b"0\r\n\r\n"):
                break
    provider.says, token = [SIZED + ANSWER], gateway.token()
    assert ask(gateway, token).body == ANSWER  # over the same connection
    assert held == 1
    assert got > 400 * 65_536
    assert [call.ending for call in gateway.calls()] == ["complete", "complete"]


def test_what_has_passed_leaves_nothing_for_a_collector(
    gateway: OwnGateway, provider: RawProvider
) -> None:
    chunked = STREAM + b"transfer-encoding: chunked\r\n\r\n"
    token, gone = gateway.token(), [None]
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            for says in ([SIZED + ANSWER], [chunked + chunk(EVENTS) + b"0\r\n\r\n"], gone):
                provider.says = says  # type: ignore[assignment]
                ask(gateway, token)
        provider.says = [SIZED + ANSWER]
        ask(gateway, token)
        deadline = time.monotonic() + 10
        while len(left := alive()) > 4 and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        gc.enable()
    assert len(left) <= 4, left  # the line that is kept, and the last call on its way out


def alive() -> list[str]:
    kinds = (Front, Exchange, Line, Passage, Flow)
    return [type(one).__name__ for one in gc.get_objects() if isinstance(one, kinds)]


def call_under_way(gateway: OwnGateway) -> int:
    return int(post(gateway.url, "/infranoise/health", "", b"").json["under_way"])


@contextmanager
def connected(gateway: OwnGateway) -> Iterator[socket.socket]:
    host, _, port = gateway.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as client:
        yield client


def request(token: str) -> bytes:
    head = f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {token}\r\n"
    return head.encode() + SIZE + BODY


def read_one(client: socket.socket, answers: int = 1) -> bytes:
    got = b""
    while got.count(ANSWER) < answers:
        more = client.recv(4096)
        assert more, got
        got += more
    return got
