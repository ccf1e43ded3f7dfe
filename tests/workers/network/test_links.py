"""Links for real: a network namespace of the test's own, its rate capped and measured."""

import subprocess
from collections.abc import Callable, Iterator
from typing import NoReturn
from urllib.request import urlopen

import pytest

from infranoise.models.errors import StartFailed
from infranoise.models.limits import Effective
from infranoise.workers.network import egress
from infranoise.workers.network.egress import PodEnd, settle, told
from infranoise.workers.network.link import INSIDE, found, join
from infranoise.workers.network.namespace import within
from infranoise.workers.network.peer import PATTERN, Peer
from infranoise.workers.network.shaping import in_force, why_no_links

pytestmark = pytest.mark.links


@pytest.fixture
def peer() -> Iterator[Peer]:
    made = Peer()
    yield made
    made.close()


@pytest.fixture
def end(missing: Callable[[str], NoReturn]) -> Iterator[PodEnd]:
    """A namespace with nothing in it but a sleeper, linked to this machine."""
    if why := why_no_links():
        missing(why)
    words = ("unshare", "-n", "sh", "-c", "echo; exec sleep 300")
    with subprocess.Popen(words, stdout=subprocess.PIPE) as sleeper:
        assert sleeper.stdout is not None
        sleeper.stdout.readline()
        try:
            link = join(sleeper.pid)
            yield PodEnd(sleeper.pid, INSIDE, link.device, link.node)
        finally:
            sleeper.kill()


def test_a_link_leads_to_this_node_and_nowhere_else(end: PodEnd, peer: Peer) -> None:
    url = peer.url(end.node)

    def fetched() -> bytes:
        with urlopen(f"{url}/bytes/70000", timeout=10) as answer:
            return bytes(answer.read())

    def beyond() -> None:
        with urlopen("http://192.0.2.77/", timeout=10):
            pass

    assert within(end.pid, fetched) == (PATTERN + PATTERN)[:70_000]
    with pytest.raises(OSError, match="unreachable"):
        within(end.pid, beyond)


@pytest.mark.parametrize("cap_mbps", [2.0, 40.0])
def test_a_cap_binds_both_ways_and_is_read_back(end: PodEnd, peer: Peer, cap_mbps: float) -> None:
    seen = settle(end, cap_mbps, peer)
    assert seen["egress_mbps"] == pytest.approx(cap_mbps)
    for way in ("egress_down_mbps", "egress_up_mbps"):
        assert 0.5 * cap_mbps < (seen[way] or 0.0) < 1.25 * cap_mbps
    assert within(end.pid, lambda: in_force(INSIDE)) == pytest.approx(cap_mbps)


def test_an_unlimited_link_is_measured_too_and_is_far_above_any_cap(
    end: PodEnd, peer: Peer
) -> None:
    seen = settle(end, "unlimited", peer)
    assert seen["egress_mbps"] is None
    assert min(seen["egress_down_mbps"] or 0, seen["egress_up_mbps"] or 0) > 100
    with pytest.raises(StartFailed, match="no tbf"):
        in_force(end.device)


def test_a_cap_that_does_not_bind_is_refused_and_never_believed(
    end: PodEnd, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(egress, "shape", lambda *_: 1.0)  # it says so, and does nothing
    with pytest.raises(StartFailed, match="does not bind") as caught:
        settle(end, 1.0, peer)
    assert caught.value.facts["egress_mbps"] == 1.0


def test_the_other_end_of_a_link_that_others_made_is_found(end: PodEnd) -> None:
    assert found(end.pid) == (end.device, INSIDE)


def test_a_link_of_a_process_that_is_gone_is_a_failed_start() -> None:
    with pytest.raises(StartFailed, match="cannot be entered"):
        found(2**22 - 1)


def test_a_link_slower_than_its_cap_is_told_as_a_difference() -> None:
    effective = Effective(enforcement="x", differs=("swap: asked 0, in force none",))
    seen = {"egress_mbps": 100.0, "egress_down_mbps": 99.0, "egress_up_mbps": 20.0}
    assert told(effective, 100.0, seen).differs == (
        "swap: asked 0, in force none",
        "egress: asked 100 Mbit/s, the link gives less than three quarters",
    )
    assert told(effective, "unlimited", seen).differs == effective.differs
