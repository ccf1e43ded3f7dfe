"""What a program says first, and whether it means the host that it was let to."""

import contextlib
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.workers.outlet.greeting import Greeting, Refuse

SENT = b"GET /a HTTP/1.1\r\nHost: site.test\r\nConnection: close\r\n\r\n"
LET = {
    "a request": (b"GET /a HTTP/1.1\r\nHost: site.test\r\n\r\n", SENT),
    "its host in capitals, with a dot": (
        b"GET /a HTTP/1.1\r\nHost: SITE.test.\r\n\r\n",
        SENT.replace(b"site.test", b"SITE.test."),
    ),
    "bare line feeds": (b"GET /a HTTP/1.1\nHost: site.test\n\n", SENT),
    "empty lines before": (b"\r\n\r\nGET /a HTTP/1.1\r\nHost: site.test\r\n\r\n", SENT),
    "a whole URL": (b"GET http://site.test:81/a HTTP/1.1\r\nHost: site.test\r\n\r\n", SENT),
    "no host": (
        b"GET /a HTTP/1.0\r\n\r\n",
        b"GET /a HTTP/1.0\r\nHost: site.test:80\r\nConnection: close\r\n\r\n",
    ),
    "an upgrade, which is left out": (
        b"GET /a HTTP/1.1\r\nHost: site.test\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
        SENT,
    ),
    "a body": (
        b"POST /a HTTP/1.1\r\nHost: site.test\r\nContent-Length: 2\r\n\r\nhi",
        b"POST /a HTTP/1.1\r\nHost: site.test\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi",
    ),
    "another protocol": (b"SSH-2.0-client\r\n", b"SSH-2.0-client\r\n"),
    "a protocol of no letters": (b"\0\0\0\x08\x04\xd2", b"\0\0\0\x08\x04\xd2"),
}
REFUSED = {
    "another host": (b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "host header"),
    "a host behind empty lines": (b"\n\nGET / HTTP/1.1\nHost: evil.test\n\n", "host header"),
    "a host below its own": (b"GET / HTTP/1.1\r\nHost: a.site.test\r\n\r\n", "host header"),
    "a URL of another": (b"GET http://evil.test/ HTTP/1.1\r\n\r\n", "host header"),
    "a URL with a user": (b"GET http://site.test@evil.test/ HTTP/1.1\r\n\r\n", "malformed"),
    "a URL of another kind": (b"GET ftp://evil.test/ HTTP/1.1\r\n\r\n", "malformed"),
    "a tunnel": (b"CONNECT evil.test:443 HTTP/1.1\r\n\r\n", "malformed"),
    "two hosts": (b"GET / HTTP/1.1\r\nHost: site.test\r\nhost: evil.test\r\n\r\n", "malformed"),
    "a folded host": (b"GET / HTTP/1.1\r\nHost: site.test\r\n evil.test\r\n\r\n", "malformed"),
    "a space before the colon": (b"GET / HTTP/1.1\r\nHost : evil.test\r\n\r\n", "malformed"),
    "a bare return": (b"GET / HTTP/1.1\r\nA: b\rHost: evil.test\r\n\r\n", "malformed"),
    "small letters": (b"get / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "malformed"),
    "tabs": (b"GET\t/\tHTTP/1.1\r\nHost: evil.test\r\n\r\n", "malformed"),
    "HTTP/2 in the clear": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "malformed"),
    "a head without end": (b"GET / HTTP/1.1\r\nA: " + b"x" * 70_000, "malformed"),
    "no TLS after all": (b"\x16" + b"x" * 100, "malformed"),
}


def said(data: bytes, by: int) -> bytes | None:
    greeting = Greeting("site.test", 80)
    for start in range(0, len(data), by):
        ready = greeting.take(data[start : start + by])
        if ready is not None:
            return ready + data[start + by :]
    return None


def hello(name: str | None) -> bytes:
    out = ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname = False
    side = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        side.do_handshake()
    return out.read()


@pytest.mark.parametrize("by", [1, 7, 100_000])
@pytest.mark.parametrize("case", LET)
def test_what_means_its_host_goes_on_and_is_the_last_of_its_connection(case: str, by: int) -> None:
    data, sent = LET[case]
    assert said(data, by) == sent


@pytest.mark.parametrize("by", [9, 100_000])
@pytest.mark.parametrize("case", REFUSED)
def test_what_means_another_host_or_could_be_read_in_two_ways_is_refused(
    case: str, by: int
) -> None:
    data, how = REFUSED[case]
    with pytest.raises(Refuse) as refusal:
        said(data, by)
    assert refusal.value.how == how


@pytest.mark.parametrize("by", [5, 100_000])
def test_a_tls_name_must_be_the_host_s(by: int) -> None:
    data = hello("site.test")
    assert said(data, by) == data
    with pytest.raises(Refuse) as refusal:
        said(hello("evil.test"), by)
    assert (refusal.value.how, refusal.value.to) == ("server name", "evil.test")


def test_a_hello_without_a_name_goes_on_as_it_came() -> None:
    data = hello(None)
    assert said(data, 100) == data


@given(st.binary(min_size=1, max_size=400), st.integers(1, 50))
def test_nothing_that_is_said_does_more_than_be_sent_on_or_refused(data: bytes, by: int) -> None:
    with contextlib.suppress(Refuse):
        said(data, by)
