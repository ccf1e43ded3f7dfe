"""A pod's egress, on every runtime that can set it: capped, measured from its own network."""

import json
import socket
import subprocess
from collections.abc import Callable
from typing import NoReturn

import pytest
from outside_world import outside

from infranoise.workers.network.link import address_of, join
from infranoise.workers.network.shaping import why_no_links
from infranoise.workers.outlet.link import why_no_outlets
from infranoise.workers.pods.pod import Pod, PodOrder, Pods, Watched

pytestmark = pytest.mark.links
OpenPod = Callable[..., Pod]
MakeOrder = Callable[..., PodOrder]
FETCH = """
import json, os, time, urllib.request
since = time.monotonic()
body = urllib.request.urlopen(os.environ["INFRANOISE_PEER_URL"] + "/bytes/250000").read()
print(json.dumps([len(body), time.monotonic() - since]))
"""
BEYOND = "import socket; socket.create_connection(('{}', 80), 1)"
OTHER_RUNTIMES = "kubernetes"


@pytest.fixture(autouse=True)
def _can_make_links(pods: Pods, missing: Callable[[str], NoReturn]) -> None:
    if pods.name == OTHER_RUNTIMES:
        pytest.skip("it refuses every order with an egress; see below")
    if why := why_no_links():
        missing(why)


def test_a_capped_pod_is_as_slow_as_its_cap_and_counts_its_own_bytes_only(
    open_pod: OpenPod,
) -> None:
    pod = open_pod(network="internal", egress_mbps=2.0)
    before = pod.counters()
    assert (before.rx_bytes or 0) < 5_000, "what was measured before is not the pod's"
    size, seconds = json.loads(pod.exec(["python3", "-c", FETCH], timeout_s=60).stdout.tail)
    assert size == 250_000
    assert seconds > 0.6, "2 Mbit/s carry it in a second, less what may burst"
    after = pod.counters()
    assert 250_000 < (after.rx_bytes or 0) < 350_000
    assert 0 < (after.tx_packets or 0) <= (after.tx_bytes or 0) / 40


def test_what_was_measured_is_told_with_the_limits(pods: Pods, make_order: MakeOrder) -> None:
    order = make_order(network="internal", egress_mbps=5.0)
    pods.prepare(order)
    pod = pods.pod(order)
    try:
        effective = pod.start()
    finally:
        pod.stop()
    assert effective.egress_mbps == pytest.approx(5.0)
    assert 2.5 < (effective.egress_down_mbps or 0) < 6.25
    assert 2.5 < (effective.egress_up_mbps or 0) < 6.25


def test_an_internal_network_leads_to_the_node_and_not_beyond(open_pod: OpenPod) -> None:
    pod = open_pod(network="internal")
    assert json.loads(pod.exec(["python3", "-c", FETCH], timeout_s=60).stdout.tail)[0] == 250_000
    words = ("unshare", "-n", "sh", "-c", "echo; exec sleep 300")
    with subprocess.Popen(words, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        device = join(other.pid).device
        address = str(address_of(socket.if_nametoindex(device)))
        try:
            with pytest.raises(ConnectionRefusedError):  # it is there, as this node sees it
                socket.create_connection((address, 80), 5)
            said = pod.exec(["python3", "-c", BEYOND.format(address)], timeout_s=60).stderr.tail
        finally:
            other.kill()
    assert "unreachable" in said or "timed out" in said


def test_a_pod_with_an_outlet_is_capped_and_measured_like_any_other(open_pod: OpenPod) -> None:
    if why := why_no_outlets():
        pytest.skip(why)
    with outside() as world:
        pod = open_pod(network="gateway", egress_mbps=2.0, allow=(f"site.test:{world.port}",))
        code = FETCH.replace('os.environ["INFRANOISE_PEER_URL"] + "/bytes/250000"', "URL")
        code = code.replace("URL", f"'http://site.test:{world.port}/250000'")
        size, seconds = json.loads(pod.exec(["python3", "-c", code], timeout_s=60).stdout.tail)
    assert size == 250_000
    assert seconds > 0.6
    assert isinstance(pod, Watched)
    seen = pod.egress()
    assert seen is not None
    assert seen.connections == 1, "what was measured before is not the pod's"
    assert not seen.refused


def test_what_runs_in_a_pod_cannot_lift_its_cap(open_pod: OpenPod) -> None:
    pod = open_pod(network="internal", egress_mbps=5.0)
    lift = "import socket; socket.if_nameindex(); socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"
    assert pod.exec(["python3", "-c", lift], timeout_s=60).exit_code == 1
    capabilities = pod.exec(["sh", "-c", "grep CapBnd /proc/self/status"]).stdout.tail.split()[1]
    assert not int(capabilities, 16) & 1 << 12, "NET_ADMIN"


def test_a_cap_on_the_network_that_a_pod_shares_with_its_node_is_refused(
    pods: Pods, make_order: MakeOrder
) -> None:
    why = pods.refuse(make_order(network="public", egress_mbps=5.0))
    assert pods.refuse_link("public", 5.0) == why, "so that no such trial is sent here"
    if pods.name == "docker":
        assert why is None, "a container has a link of its own also where it leads everywhere"
    else:
        assert why is not None
        assert 'set network = "internal"' in why
