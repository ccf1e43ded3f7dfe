"""A pod with an outlet, on every runtime that can give it one: what it reaches, what it does not,
and what is told of both. Everything stays on this machine: the outside is a server on loopback."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from outside_world import BODY, Outside, outside

from infranoise.models.egress_seen import EgressSeen
from infranoise.models.errors import StartFailed
from infranoise.workers.outlet.link import why_no_outlets
from infranoise.workers.outlet.outlets import Outlets
from infranoise.workers.outlet.trying import node_address
from infranoise.workers.pods.pod import Pod, PodOrder, Pods, Watched

pytestmark = pytest.mark.links
RUNTIMES = ("process", "docker")
OpenPod = Callable[..., Pod]
MakeOrder = Callable[..., PodOrder]
RESET = "ConnectionResetError"[9:12]
PRELUDE = """
import json, os, socket, ssl, sys, urllib.request
def fetch(url, **headers):
    try:
        asked = urllib.request.Request(url, headers=headers)
        return len(urllib.request.urlopen(asked, timeout=20).read())
    except OSError as error:
        return f"{type(error).__name__}: {error}"
def tcp(host, port, said=b""):
    try:
        with socket.create_connection((host, port), 20) as way:
            way.sendall(said)
            return way.recv(100).decode("latin-1") if said else "reached"
    except OSError as error:
        return type(error).__name__
def tls(name, way):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        context.wrap_socket(way, server_hostname=name)
    except OSError as error:
        return type(error).__name__
port = int(sys.argv[1])
"""


@pytest.fixture(autouse=True)
def _can_have_outlets(missing: Callable[[str], NoReturn]) -> None:
    if why := why_no_outlets():
        missing(why)


@pytest.fixture
def world() -> Iterator[Outside]:
    with outside() as told:
        yield told


@pytest.fixture
def watched(open_pod: OpenPod, world: Outside) -> Pod:
    """A pod that may reach one host at one port."""
    allow = (f"site.test:{world.port}", f"*.below.test:{world.port}", f"gone.test:{world.port}")
    return open_pod(network="gateway", allow=allow, gateway=f"http://127.0.0.1:{world.port}")


def run(pod: Pod, code: str, world: Outside) -> Any:
    """What a program in the pod prints as JSON."""
    done = pod.exec(["python3", "-c", PRELUDE + code, str(world.port)], timeout_s=120)
    assert done.exit_code == 0, done.stderr.tail
    return json.loads(done.stdout.tail)


def seen_of(pod: Pod) -> EgressSeen:
    assert isinstance(pod, Watched)
    seen = pod.egress()
    assert seen is not None
    return seen


def refused(seen: EgressSeen) -> set[tuple[str, int | None, str]]:
    return {(one.to, one.port, one.how) for one in seen.refused}


def test_an_allowed_host_is_reached_by_any_program_and_counted_byte_by_byte(
    watched: Pod, world: Outside
) -> None:
    code = "print(json.dumps([fetch(f'http://site.test:{port}/a{n}') for n in range(3)]))"
    assert run(watched, code, world) == [len(BODY)] * 3
    assert world.asked[-3:] == [(f"/a{n}", f"site.test:{world.port}") for n in range(3)]
    seen = seen_of(watched)
    (host,) = seen.hosts
    assert (host.host, host.port, host.connections) == ("site.test", world.port, 3)
    assert 3 * len(BODY) < host.bytes_in < 3 * len(BODY) + 1000
    assert 100 < host.bytes_out < 1000
    assert (seen.contacted, seen.refusals, seen.dns_failures, seen.cut_off) == (1, 0, 0, ())
    assert seen.probe["an allowed name"] == seen.probe["the gateway"] == "reached"
    counters = watched.counters()
    assert (counters.rx_bytes or 0) > host.bytes_in, "the pod's own link, with its headers"


def test_the_gateway_is_reached_at_this_node_s_end_and_a_link_outlives_the_pod_s_first_life(
    watched: Pod, world: Outside
) -> None:
    code = "print(json.dumps(fetch(f'http://198.18.0.1:{port}/')))"
    assert run(watched, code, world) == len(BODY)
    watched.exec(["sh", "-c", "kill -9 -1"], timeout_s=60)
    assert run(watched, code, world) == len(BODY)
    assert [(one.host, one.connections) for one in seen_of(watched).hosts] == [("gateway", 2)]
    assert seen_of(watched).contacted == 0, "the gateway is no host of the agent's choice"


def test_a_gateway_with_a_name_is_found_by_its_name(open_pod: OpenPod, world: Outside) -> None:
    pod = open_pod(network="gateway", gateway=f"http://site.test:{world.port}")
    code = "print(json.dumps([fetch(f'http://site.test:{port}/'), tcp('site.test', 80, b'x')]))"
    assert run(pod, code, world) == [len(BODY), "ConnectionResetError"]
    seen = seen_of(pod)
    assert [(one.host, one.connections) for one in seen.hosts] == [("gateway", 1)]
    assert refused(seen) == {("site.test", 80, "tcp")}, "the gateway's machine has other ports"


NOWHERE = """
here = json.loads(sys.argv[2]) if len(sys.argv) > 2 else None
tried = {
    "an address": tcp("192.0.2.10", 80), "metadata": tcp("169.254.169.254", 80),
    "the node's queue": tcp("198.18.0.1", 6379), "the engine": tcp(NODE, 2375),
    "another pod": tcp("198.18.0.3", 80), "ipv6": tcp("2001:db8::1", 80),
    "a port of an allowed host": tcp("site.test", 22), "a name": tcp("evil.test", 80),
}
asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asking.settimeout(20)
asking.connect(("192.0.2.53", 53))
try:
    asking.send(b"a question for another resolver")
    tried["another resolver"] = asking.recv(10).decode()
except OSError as error:
    tried["another resolver"] = type(error).__name__
print(json.dumps(tried))
"""


def test_nothing_else_is_reached_and_every_try_is_refused_at_once_and_told(
    watched: Pod, world: Outside
) -> None:
    node = node_address() or "192.0.2.11"
    before = world.connections
    tried = run(watched, NOWHERE.replace("NODE", repr(node)), world)
    assert set(tried.values()) <= {"OSError", "ConnectionRefusedError", "gaierror"}, tried
    assert world.connections == before
    seen = seen_of(watched)
    assert refused(seen) == {
        ("192.0.2.10", 80, "tcp"),
        ("169.254.169.254", 80, "tcp"),
        ("198.18.0.1", 6379, "tcp"),
        (node, 2375, "tcp"),
        ("198.18.0.3", 80, "tcp"),
        ("site.test", 22, "tcp"),
        ("192.0.2.53", 53, "udp"),
    }
    assert {(one.name, one.fault) for one in seen.dns} == {("evil.test", "forbidden")}
    assert seen.cut_off == ()


PRETENDING = """
def said(text):
    return tcp("site.test", port, text.encode())[9:12]
def through(line):
    return tcp("198.18.0.1", 3128, (line + " HTTP/1.1\\r\\n\\r\\n").encode())[9:12]
print(json.dumps({
    "another host": said("GET /evil HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"),
    "another url": said(f"GET http://evil.test/evil HTTP/1.1\\r\\nHost: site.test\\r\\n\\r\\n"),
    "two hosts": said("GET /evil HTTP/1.1\\r\\nHost: site.test\\r\\nHost: evil.test\\r\\n\\r\\n"),
    "a folded header": said("GET /evil HTTP/1.1\\r\\nHost: site.test\\r\\n evil.test\\r\\n\\r\\n"),
    "a huge head": said("GET /evil HTTP/1.1\\r\\nHost: site.test\\r\\nX: " + "x" * 70_000),
    "a second request": said(
        "GET /one HTTP/1.1\\r\\nHost: site.test\\r\\n\\r\\n"
        "GET /evil HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"),
    "another name in TLS": tls("evil.test", socket.create_connection(("site.test", port))),
    "a tunnel to an address": through("CONNECT 127.0.0.1:%d" % port),
    "a tunnel to a forbidden name": through("CONNECT evil.test:443"),
    "a tunnel to a name of dots": through("CONNECT site.test/../evil.test:443"),
    "a tunnel": through("CONNECT site.test:%d" % port),
    "a request": through("GET http://site.test:%d/proxied" % port),
    "a request elsewhere": through("GET http://evil.test/evil"),
}))
"""


def test_whoever_names_another_host_than_the_one_it_asked_for_is_refused(
    watched: Pod, world: Outside
) -> None:
    answers = run(watched, PRETENDING, world)
    assert answers == {
        "another host": "403",
        "another url": "403",
        "two hosts": RESET,
        "a folded header": RESET,
        "a huge head": RESET,
        "a second request": "200",
        "another name in TLS": "ConnectionResetError",
        "a tunnel to an address": "403",
        "a tunnel to a forbidden name": "403",
        "a tunnel to a name of dots": RESET,
        "a tunnel": "200",
        "a request": "200",
        "a request elsewhere": "403",
    }
    assert "/evil" not in {path for path, _ in world.asked}, "it would be another's, at its address"
    assert {"/one", "/proxied"} <= {path for path, _ in world.asked}
    assert refused(seen_of(watched)) == {
        ("evil.test", world.port, "host header"),
        ("site.test", world.port, "malformed"),
        ("evil.test", world.port, "server name"),
        ("127.0.0.1", world.port, "tcp"),
        ("evil.test", 443, "tcp"),
        ("evil.test", 80, "tcp"),
        ("198.18.0.1", 3128, "malformed"),
    }


NAMES = """
def ask(name):
    try:
        return socket.getaddrinfo(name, 80)[0][4][0][:7]
    except socket.gaierror as error:
        return error.errno
raw = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for garbage in (b"", b"x", b"\\0" * 11, b"\\0\\1" * 300,
                b"\\0\\1\\1\\0\\0\\1" + b"\\0" * 6 + b"\\xc0\\x0c"):
    raw.sendto(garbage, ("198.18.0.1", 53))
stream = b"\\0\\7\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\4site\\4test\\0\\0\\1\\0\\1"
print(json.dumps([
    ask("site.test"), ask("SITE.test."), ask("evil.test"), ask("site.test.evil.test"),
    ask("deep.nowhere.below.test"), ask("x" * 60 + ".tunnel.evil.test"),
    len(tcp("198.18.0.1", 53, len(stream).to_bytes(2) + stream)),
]))
"""


def test_names_are_answered_as_the_list_says_and_asked_of_nobody_else(
    watched: Pod, world: Outside
) -> None:
    site, capital, *unknown, stream = run(watched, NAMES, world)
    assert site == capital == "198.19."
    assert len(set(unknown)) == 1, "all are told as names that do not exist"
    assert stream > 40
    faults = {(one.name, one.fault) for one in seen_of(watched).dns}
    assert {
        ("evil.test", "forbidden"),
        ("site.test.evil.test", "forbidden"),
        ("x" * 60 + ".tunnel.evil.test", "forbidden"),
        ("", "malformed"),
    } <= faults
    assert any(name == "deep.nowhere.below.test" for name, _ in faults)


CROWD = """
crowd = []
for n in range(300):
    try:
        crowd.append(socket.create_connection(("site.test", port), 20))
    except OSError:
        pass
first = tcp("site.test", port, b"GET /crowded HTTP/1.1\\r\\nHost: site.test\\r\\n\\r\\n")[:12]
for way in crowd:
    way.close()
for n in range(100):
    last = fetch(f"http://site.test:{port}/after")
    if isinstance(last, int):
        break
print(json.dumps([first, last]))
"""


def test_connections_that_are_held_open_do_no_harm_beyond_their_pod(
    watched: Pod, world: Outside
) -> None:
    assert run(watched, CROWD, world) == ["ConnectionRe", len(BODY)]
    assert ("site.test", world.port, "too many") in refused(seen_of(watched))


def test_a_host_that_is_out_of_reach_is_told_apart_from_one_that_refuses(
    watched: Pod, world: Outside
) -> None:
    run(watched, "print(json.dumps(fetch(f'http://gone.test:{port}/')))", world)
    (host,) = seen_of(watched).hosts
    assert (host.host, host.failed, host.connections) == ("gone.test", 1, 0)
    assert host.why == "Connection refused"
    assert not host.cut_off


def test_addresses_are_reached_where_the_list_names_them(open_pod: OpenPod) -> None:
    here = node_address()
    if here is None:
        pytest.skip("this machine has no address but loopback")
    with outside(here) as world:
        pod = open_pod(network="gateway", allow=(f"{here}:{world.port}",))
        code = "print(json.dumps([fetch(f'http://HERE:{port}/'), tcp('HERE', 22)]))"
        assert run(pod, code.replace("HERE", here), world) == [len(BODY), "ConnectionRefusedError"]
        seen = seen_of(pod)
    assert [(one.host, one.connections) for one in seen.hosts] == [(here, 1)]
    assert refused(seen) == {(here, 22, "tcp")}


def test_a_pod_that_would_not_reach_its_gateway_does_not_start(
    pods: Pods, make_order: MakeOrder
) -> None:
    order = make_order(network="gateway", gateway="http://127.0.0.9:1")
    pods.prepare(order)
    pod = pods.pod(order)
    try:
        with pytest.raises(StartFailed, match="does not reach the gateway") as fault:
            pod.start()
    finally:
        pod.stop()
    assert fault.value.facts["egress_tried"] == "the gateway"


def test_when_the_process_that_carries_dies_every_way_ends_and_the_next_pod_has_a_new_one(
    pods: Pods, watched: Pod, open_pod: OpenPod, world: Outside
) -> None:
    code = "print(json.dumps(fetch(f'http://site.test:{port}/')))"
    assert run(watched, code, world) == len(BODY)
    seen_of(watched)
    outlets: Outlets = pods._outlets  # type: ignore[attr-defined]
    assert outlets.pid is not None
    os.kill(outlets.pid, signal.SIGKILL)
    assert isinstance(run(watched, code, world), str)
    seen = seen_of(watched)
    assert "died" in seen.lost
    assert seen.contacted == 1, "what was counted before stands"
    again = open_pod(network="gateway", allow=(f"site.test:{world.port}",))
    assert run(again, code, world) == len(BODY)
    assert not seen_of(again).lost


def stands_for_a_network(handle: Path) -> bool:
    try:
        return handle.readlink().name.startswith("net:[")
    except OSError:  # the one by which this folder is read
        return False


def test_a_pod_that_is_gone_has_left_no_network_and_no_handle(
    pods: Pods, open_pod: OpenPod, world: Outside
) -> None:
    def held() -> tuple[int, int]:
        outlets: Outlets = pods._outlets  # type: ignore[attr-defined]
        carrying, own = Path(f"/proc/{outlets.pid}/fd"), Path("/proc/self/fd")
        return len(list(carrying.iterdir())), sum(map(stands_for_a_network, own.iterdir()))

    open_pod(network="gateway").stop()
    before = held()
    pod = open_pod(network="gateway", allow=(f"site.test:{world.port}", "site.test:8080"))
    run(pod, "print(json.dumps(fetch(f'http://site.test:{port}/')))", world)
    pod.stop()
    assert held() == before
    assert seen_of(pod).contacted == 1, "what it did is still told"
