"""What a node knows of itself: its clock, its speed, what it reaches, the engine's words."""

import socket
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.models.load import Load
from infranoise.workers.bearings import Bearings
from infranoise.workers.clock_offset import Instant, closest, measured
from infranoise.workers.meters.engine_told import ask_engine, engine_told
from infranoise.workers.meters.load_watch import LoadWatch
from infranoise.workers.meters.procfs import Files
from infranoise.workers.probe import probe
from infranoise.workers.reach import name_servers, reachable
from infranoise.workers.slots import Slots
from infranoise.workers.tending import Tending

# --- clock ---


@given(st.floats(-1e4, 1e4), st.lists(st.tuples(st.floats(0, 2), st.floats(0, 2)), min_size=1))
def test_the_true_offset_is_within_the_bound_whatever_the_ways_take(
    offset_s: float, ways: list[tuple[float, float]]
) -> None:
    now = 1e6
    found = closest((now, now + there - offset_s, now + there + back) for there, back in ways)
    assert abs(found.offset_s - offset_s) <= found.error_s + 1e-5
    assert found.error_s <= min(sum(way) for way in ways) / 2 + 1e-5


def test_a_clock_that_is_ahead_is_told_so() -> None:
    found = measured(lambda: time.time() - 100.0)
    assert found.offset_s == pytest.approx(100.0, abs=found.error_s + 0.001)


def test_a_step_and_a_sleep_are_told_apart() -> None:
    before, after = Instant(100.0, 10.0, 20.0), Instant(165.0, 12.0, 25.0)
    assert before.step_s(after) == 60.0
    assert before.suspended_s(after) == 3.0


# --- speed ---


def test_a_probe_tells_rates_with_their_spread_and_leaves_nothing(tmp_path: Path) -> None:
    found = probe(tmp_path / "state", co_running=2)
    for spread in (found.cpu_ops_s, found.memory_mb_s, found.disk_mb_s):
        assert spread is not None
        assert 0 < spread.low <= spread.median <= spread.high
    assert found.co_running == 2
    assert list((tmp_path / "state").iterdir()) == []


def test_a_disk_that_cannot_be_written_is_not_known() -> None:
    assert probe(Path("/proc/none")).disk_mb_s is None


class Home:
    """Takes what a node tells, and waits for it."""

    def __init__(self) -> None:
        self.facts: dict[str, object] = {}
        self._came = threading.Condition()

    def tell(self, facts: Mapping[str, object]) -> None:
        with self._came:
            self.facts |= facts
            self._came.notify_all()

    def answer(self, id_: str) -> str:
        def asked() -> dict[str, str]:
            return self.facts.get("asked") or {}  # type: ignore[return-value]

        with self._came:
            assert self._came.wait_for(lambda: asked().get("id") == id_, 30)
            return asked()["why"]


@pytest.fixture
def tended(tmp_path: Path) -> Callable[..., tuple[Tending, Home]]:
    def make(every_s: float = 0.0) -> tuple[Tending, Home]:
        home = Home()
        tending = Tending(
            bearings=Bearings(),
            slots=Slots(2),
            disk=tmp_path,
            every_s=every_s,
            ask_time=time.time,
            tell=home.tell,
        )
        return tending, home

    return make


def test_a_node_that_is_not_to_be_probed_knows_its_profile_only(
    tended: Callable[..., tuple[Tending, Home]],
) -> None:
    tending, _ = tended()
    assert tending.look()["probe"] is None
    assert tending.bearings.profile is not None
    assert tending.bearings.profile.reachable == {}


def test_asked_it_is_probed_unless_attempts_run_and_beside_them_if_that_is_wanted(
    tended: Callable[..., tuple[Tending, Home]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infranoise.workers.tending.QUIET_WITHIN_S", 0.05)
    tending, home = tended()
    tending.asked("first", beside=False)
    assert home.answer("first") == ""
    assert tending.bearings.probe is not None
    with tending.slots.taken("attempt"):
        tending.asked("second", beside=False)
        assert home.answer("second") == "1 attempts are under way on it"
        tending.asked("third", beside=True)
        assert home.answer("third") == ""
    assert tending.bearings.probe.co_running == 1


# --- load ---


def test_the_worst_between_start_and_end_is_kept_for_each_attempt() -> None:
    readings = [Load(load1=1.0), Load(load1=7.0), Load(load1=2.0)]
    sampled = threading.Event()

    def read() -> Load:
        if len(readings) == 1:
            sampled.set()
            return readings[0]
        return readings.pop(0)

    with LoadWatch(every_s=0.01, read=read).span() as span:
        assert sampled.wait(10)
    assert (span.start.load1, span.peak.load1, span.end.load1) == (1.0, 7.0, 2.0)


# --- what it reaches ---


def test_hosts_that_listen_are_reached_and_others_are_not(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/resolv.conf").write_text("# of a test\nnameserver 127.0.0.97\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        told = reachable((f"http://127.0.0.1:{port}/v1/",), ("127.0.0.1:9",), files=Files(tmp_path))
    assert told == {
        "name server 127.0.0.97": False,
        f"registry 127.0.0.1:{port}": True,
        "127.0.0.1:9": False,
    }


def test_name_servers_are_the_system_s(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/resolv.conf").write_text("search x\nnameserver 192.0.2.1\nnameserver ::1\n")
    assert name_servers(Files(tmp_path)) == ("192.0.2.1", "::1")


def test_an_engine_s_words_are_read_and_no_engine_is_none(tmp_path: Path) -> None:
    info: dict[str, object] = {
        "ServerVersion": "27.1",
        "ContainerdCommit": {"ID": "abcdefabcdefabcdef"},
        "RuncCommit": {"ID": ""},
        "IndexServerAddress": "https://index.example/v1/",
        "RegistryConfig": {"Mirrors": ["https://mirror.example/"]},
    }
    told = engine_told(info)
    assert told.versions == {"docker": "27.1", "containerd": "abcdefabcdef"}
    assert told.registries == ("https://mirror.example/", "https://index.example/v1/")
    assert ask_engine(tmp_path / "no.sock") is None
