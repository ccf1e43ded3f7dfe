"""The small parts of an outlet: questions, packets, counts, names, proxies, look-ups."""

import asyncio
import socket
import struct
from ipaddress import IPv4Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.models.egress_seen import EgressSeen
from infranoise.workers.outlet import question, sniff
from infranoise.workers.outlet.greeting import Greeting, Refuse
from infranoise.workers.outlet.looking_up import LookUp, Unresolved, leads_here
from infranoise.workers.outlet.names import MOST, Names
from infranoise.workers.outlet.places import NAMES, Door, door_of, in_pod
from infranoise.workers.outlet.proxy_head import asked_of
from infranoise.workers.outlet.relay import carry
from infranoise.workers.outlet.tally import Tally, Way

ADDRESS = IPv4Address("198.19.0.1")


def packet(
    protocol: int, to: str, payload: bytes, *, fragment: int = 0, options: bytes = b""
) -> bytes:
    words = 5 + len(options) // 4
    head = struct.pack("!BBHHHBBH", 64 + words, 0, 0, 0, fragment, 64, protocol, 0)
    return head + IPv4Address("198.18.0.2").packed + IPv4Address(to).packed + options + payload


PACKETS = {
    "tcp": (packet(6, "192.0.2.1", struct.pack("!HH", 5, 443)), ("192.0.2.1", 443, "tcp")),
    "udp behind options": (
        packet(17, "192.0.2.1", struct.pack("!HH", 5, 53), options=b"\1" * 8),
        ("192.0.2.1", 53, "udp"),
    ),
    "ping": (packet(1, "192.0.2.1", b"\x08\0\0\0"), ("192.0.2.1", None, "ip")),
    "a later fragment": (packet(17, "192.0.2.1", b"xxxx", fragment=9), ("192.0.2.1", None, "ip")),
    "cut short": (packet(6, "192.0.2.1", b"x"), ("192.0.2.1", None, "ip")),
}


@pytest.mark.parametrize("case", PACKETS)
def test_a_packet_tells_where_it_was_to_go(case: str) -> None:
    data, (to, port, how) = PACKETS[case]
    assert sniff.read(data) == sniff.Tried(IPv4Address(to), port, how)  # type: ignore[arg-type]


def test_a_refusal_quotes_the_packet_and_adds_up() -> None:
    data = PACKETS["tcp"][0] + b"12345678 and more"
    refusal = sniff.refusal(data)
    assert refusal[:2] == bytes((3, 13))
    assert refusal[8:] == data[:28]
    assert sum(struct.unpack(f"!{len(refusal) // 2}H", refusal)) % 0xFFFF == 0


@given(st.binary(max_size=80))
def test_no_packet_and_no_question_breaks_what_reads_it(data: bytes) -> None:
    sniff.read(data)
    try:
        asked = question.read(data)
    except question.Malformed:
        return
    assert question.answered(asked, ADDRESS)[-4:] == ADDRESS.packed


def test_a_question_is_answered_with_itself_and_an_address_or_none() -> None:
    asked = question.read(question.asking("a.site.test", 77))
    assert (asked.id, asked.name, asked.type) == (77, "a.site.test", question.A)
    assert question.address_in(question.answered(asked, ADDRESS)) == ADDRESS
    unknown = question.answered(asked, code=question.NO_SUCH_NAME)
    assert question.address_in(unknown) is None
    assert unknown[3] & 15 == question.NO_SUCH_NAME
    assert unknown[:2] == (77).to_bytes(2)


def test_counts_do_not_grow_without_end_and_lose_nothing() -> None:
    tally = Tally()
    for n in range(100):
        tally.way(f"h{n}.test", 443).reached()
        tally.refuse(f"192.0.2.{n}", 80, "tcp")
        tally.unnamed(f"n{n}.test", "no such name")
        tally.unnamed(f"f{n}.test", "forbidden")
    seen = tally.seen()
    assert (len(seen.hosts), len(seen.refused), len(seen.dns)) == (64, 64, 64)
    assert (seen.connections, seen.refusals, seen.dns_failures) == (100, 200, 100)
    assert EgressSeen.model_validate_json(seen.model_dump_json()) == seen


def test_what_a_pod_writes_cannot_steer_whoever_reads_it() -> None:
    tally = Tally()
    tally.refuse("evil\x1b[2J\u202e.test" + "x" * 1000, 80, "host header")
    (refused,) = tally.seen().refused
    assert refused.to.startswith("evil?[2J?.testxxx")
    assert len(refused.to) == 253


def test_only_what_failed_to_the_last_is_out_of_reach() -> None:
    tally = Tally()
    tally.way("back.test", 443).missed("no answer", cut_off=True)
    tally.way("back.test", 443).reached()
    tally.way("silent.test", 443).reached()
    tally.way("silent.test", 443).missed("no answer", cut_off=True)
    tally.way("refusing.test", 443).missed("Connection refused", cut_off=False)
    tally.unnamed("slow.test", "timed out")
    tally.unnamed("again.test", "server failed")
    tally.named("again.test")
    tally.unnamed("typo.test", "no such name")
    assert tally.seen().cut_off == ("silent.test port 443: no answer", "slow.test: timed out")


def test_each_name_has_an_address_until_there_are_too_many() -> None:
    names = Names()
    addresses = {names.address(f"n{n}.test") for n in range(MOST)}
    assert len(addresses) == MOST
    assert all(one is not None and one in NAMES for one in addresses)
    assert names.address("one-more.test") is None
    first = names.address("n0.test")
    assert first is not None
    assert names.name(first) == names.text(first) == "n0.test"
    assert names.text(IPv4Address("192.0.2.1")) == "192.0.2.1"


@pytest.mark.parametrize(
    ("url", "door", "seen"),
    [
        ("", None, ""),
        ("http://127.0.0.1:8484", Door("127.0.0.1", 8484), "http://198.18.0.1:8484"),
        ("http://localhost:8484", Door("localhost", 8484), "http://198.18.0.1:8484"),
        ("http://10.0.0.7", Door("10.0.0.7", 80), "http://198.18.0.1:80"),
        ("https://home.test", Door("home.test", 443), "https://home.test"),
    ],
)
def test_pods_find_the_gateway_by_its_name_or_at_this_node_s_end(
    url: str, door: Door | None, seen: str
) -> None:
    assert door_of(url) == door
    assert in_pod(url) == seen


def test_a_host_may_speak_first_and_each_side_may_end_before_the_other() -> None:
    async def talk() -> Way:
        loop, way = asyncio.get_running_loop(), Way("site.test", 22)
        (pod, near), (far, host) = socket.socketpair(), socket.socketpair()
        with pod, near, far, host:
            for one in (pod, near, far, host):
                one.setblocking(False)
            carried = asyncio.create_task(carry(near, far, way, Greeting("site.test", 22), b""))
            await loop.sock_sendall(host, b"SSH-2.0-host\r\n")
            assert await loop.sock_recv(pod, 100) == b"SSH-2.0-host\r\n"
            await loop.sock_sendall(pod, b"SSH-2.0-pod\r\n")
            pod.shutdown(socket.SHUT_WR)
            assert await loop.sock_recv(host, 100) == b"SSH-2.0-pod\r\n"
            assert await loop.sock_recv(host, 100) == b""
            await loop.sock_sendall(host, b"more")
            host.shutdown(socket.SHUT_WR)
            assert await loop.sock_recv(pod, 100) == b"more"
            await carried
        return way

    way = asyncio.run(talk())
    assert (way.bytes_out, way.bytes_in) == (13, 18)


HEADS = {
    b"CONNECT site.test:443 HTTP/1.1\r\n\r\nhi": ("site.test", 443, True, b"hi"),
    b"GET http://site.test/a?b HTTP/1.1\r\n\r\n": ("site.test", 80, False, None),
    b"GET http://site.test:81 HTTP/1.0\r\n\r\n": ("site.test", 81, False, None),
}
BAD_HEADS = (
    b"CONNECT site.test HTTP/1.1\r\n\r\n",
    b"CONNECT a@site.test:443 HTTP/1.1\r\n\r\n",
    b"CONNECT [2001:db8::1]:443 HTTP/1.1\r\n\r\n",
    b"GET /relative HTTP/1.1\r\nHost: site.test\r\n\r\n",
    b"GET https://site.test/ HTTP/1.1\r\n\r\n",
    b"nonsense\r\n\r\n",
    b"GET http://site.test/" + b"x" * 70_000,
)


def asked(data: bytes) -> tuple[str, int, bool, bytes]:
    async def ask() -> tuple[str, int, bool, bytes]:
        theirs, ours = socket.socketpair()
        with theirs, ours:
            ours.setblocking(False)
            theirs.sendall(data)
            theirs.shutdown(socket.SHUT_WR)
            found = await asked_of(ours)
            return found.host, found.port, found.tunnel, found.said

    return asyncio.run(ask())


@pytest.mark.parametrize("data", HEADS)
def test_a_proxy_is_asked_for_a_host_and_a_port(data: bytes) -> None:
    *whom, said = HEADS[data]
    assert asked(data) == (*whom, data if said is None else said)


@pytest.mark.parametrize("data", BAD_HEADS)
def test_a_proxy_that_is_asked_for_anything_else_refuses(data: bytes) -> None:
    with pytest.raises(Refuse):
        asked(data)


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("127.0.0.2", True),
        ("169.254.169.254", True),
        ("0.0.0.0", True),
        ("224.0.0.1", True),
        ("::1", True),
        ("fe80::1", True),
        ("::ffff:127.0.0.1", True),
        ("192.0.2.1", False),
        ("10.255.0.1", False),
    ],
)
def test_an_address_of_this_node_is_known_as_that(address: str, here: bool) -> None:
    assert leads_here(ip_address(address)) is here


def test_a_name_that_stands_for_this_node_is_looked_up_for_ourselves_alone() -> None:
    async def ask() -> None:
        look_up = LookUp({"fixed.test": ("127.0.0.1",)})
        assert await look_up.addresses("fixed.test") == ("127.0.0.1",)
        assert "127.0.0.1" in await look_up.addresses("localhost", may_lead_here=True)
        with pytest.raises(Unresolved) as fault:
            await look_up.addresses("localhost")
        assert fault.value.fault == "forbidden"

    asyncio.run(ask())
