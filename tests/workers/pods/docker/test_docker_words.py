"""Orders and limits in the engine's words and back, failures and counters from its answers."""

from pathlib import Path
from typing import Any

import pytest

from infranoise.models.counters import Counters
from infranoise.models.limits import Limits
from infranoise.workers.pods.docker import config as docker_config
from infranoise.workers.pods.docker import counters as docker_counters
from infranoise.workers.pods.docker import loss as docker_loss
from infranoise.workers.pods.docker.engine import read_facts
from infranoise.workers.pods.docker.frames import Frames
from infranoise.workers.pods.docker.host import written_folders
from infranoise.workers.pods.docker.image import environment_tag, pull_failure
from infranoise.workers.pods.pod import PodOrder
from infranoise.workers.pods.tail import Tail

MIB = 1024**2


def order(**more: Any) -> PodOrder:
    values: dict[str, Any] = {
        "attempt_id": "a1",
        "experiment": "e",
        "trial": "t",
        "environment": Path("/nowhere"),
        "environment_hash": "h",
        "limits": Limits(),
        "expires_at": 1000.5,
    }
    return PodOrder(**values | more)


LIMITS: dict[str, tuple[Limits, dict[str, int]]] = {
    "nothing asked: only processes are bounded": (Limits(), {"PidsLimit": 4096}),
    "a floor is a reservation, a ceiling a limit without swap": (
        Limits(memory_floor_bytes=64 * MIB, memory_ceiling_bytes=96 * MIB),
        {
            "MemoryReservation": 64 * MIB,
            "Memory": 96 * MIB,
            "MemorySwap": 96 * MIB,
            "PidsLimit": 4096,
        },
    ),
    "swap is granted beyond the ceiling": (
        Limits(memory_ceiling_bytes=96 * MIB, swap_bytes=32 * MIB),
        {"Memory": 96 * MIB, "MemorySwap": 128 * MIB, "PidsLimit": 4096},
    ),
    "cores are shares and quota": (
        Limits(cpu_floor=0.5, cpu_ceiling=1.5, pids=64),
        {"CpuShares": 512, "CpuQuota": 150_000, "CpuPeriod": 100_000, "PidsLimit": 64},
    ),
}


@pytest.mark.parametrize(("limits", "asked"), LIMITS.values(), ids=LIMITS.keys())
def test_limits_in_the_engines_words(limits: Limits, asked: dict[str, int]) -> None:
    config = docker_config.host_config(limits, "bridge")
    assert {
        key: value for key, value in config.items() if isinstance(value, int) and key != "Init"
    } == asked


def test_every_pod_is_fenced_in() -> None:
    body = docker_config.container(order(network="none"), "sha256:1", "me", "none", {})
    config = body["HostConfig"]
    assert config["Init"] is True
    assert config["SecurityOpt"] == ["no-new-privileges"]
    assert config["NetworkMode"] == "none"
    assert config["LogConfig"] == {"Type": "none"}
    assert "Privileged" not in config
    assert body["Labels"] == {
        "dev.infranoise.experiment": "e",
        "dev.infranoise.trial": "t",
        "dev.infranoise.attempt": "a1",
        "dev.infranoise.expires-at": "1000.5",
        "dev.infranoise.owner": "me",
    }


@pytest.mark.parametrize(("now", "over"), [(1000.0, False), (1001.0, True)])
def test_a_label_tells_when_a_pods_time_is_over(now: float, over: bool) -> None:
    assert docker_config.expired(docker_config.labels(order(), "me"), now) is over


def test_limits_that_are_not_in_force_are_told_in_words() -> None:
    asked = Limits(memory_ceiling_bytes=96 * MIB, cpu_ceiling=8, storage_floor_bytes=MIB)
    accepted = docker_config.accepted(docker_config.host_config(asked, "bridge"), "docker")
    deaf = accepted.model_copy(update={"memory_and_swap_bytes": None})
    assert docker_config.differences(asked, accepted, cores=8) == (
        "storage floor: asked, but Docker reserves no disk space",
    )
    assert docker_config.differences(asked, deaf, cores=2) == (
        "memory and swap: asked 100663296, in force none",
        "cpu ceiling: asked 8, the host has 2 cores",
        "storage floor: asked, but Docker reserves no disk space",
    )


# What engines and registries say; the first two come from one registry for one missing image.
PULLS = [
    (
        "pull access denied for nosuch/image, repository does not exist or may require "
        "'docker login': denied: requested access to the resource is denied",
        "not_found",
    ),
    ("manifest for python:9.99 not found: manifest unknown: manifest unknown", "not_found"),
    ("Get https://r.example/v2/x/manifests/1: unauthorized: authentication required", "auth"),
    ("toomanyrequests: You have reached your pull rate limit.", "rate_limit"),
    ("Get https://r.example/v2/: dial tcp: lookup r.example: no such host", "network"),
    ("Get https://r.example/v2/: net/http: TLS handshake timeout", "network"),
    ("received unexpected HTTP status: 503 Service Unavailable", "network"),
    ("layer is on fire", "unknown"),
]


@pytest.mark.parametrize(("message", "kind"), PULLS)
def test_a_failed_pull_has_a_kind(message: str, kind: str) -> None:
    assert pull_failure(message) == kind


def test_an_environment_is_named_by_its_content() -> None:
    assert environment_tag("sha256:" + "a" * 200) == "infranoise/env:" + "a" * 128


@pytest.mark.parametrize("cut", [1, 3, 8, 9, 1000])
def test_frames_may_be_cut_anywhere(cut: int) -> None:
    sent = b"".join(
        bytes([stream, 0, 0, 0]) + len(text).to_bytes(4, "big") + text
        for stream, text in [(1, b"out"), (2, b"err!"), (1, b""), (1, b" more"), (2, b"\xff")]
    )
    out, err = Tail(100), Tail(100)
    frames = Frames(out, err)
    for start in range(0, len(sent), cut):
        frames.feed(sent[start : start + cut])
    assert out.stream().tail == "out more"
    assert err.stream().tail == "err!�"


STATS_V1 = {  # of engine 20.10 on cgroup v1, cut down
    "cpu_stats": {
        "cpu_usage": {"total_usage": 1_234_000_000},
        "throttling_data": {"periods": 40, "throttled_periods": 7, "throttled_time": 500_000_000},
    },
    "memory_stats": {"usage": 9, "max_usage": 67_108_864, "stats": {"rss": 5, "total_rss": 6}},
    "pids_stats": {"current": 3},
    "networks": {
        "eth0": {"rx_bytes": 10, "rx_packets": 3, "tx_bytes": 2, "tx_packets": 1},
        "eth1": {"rx_bytes": 1, "rx_packets": 1, "tx_bytes": 1, "tx_packets": 1},
    },
}
STATS_V2 = {  # as the API documents cgroup v2: no highest usage, another name for anonymous memory
    "cpu_stats": {"cpu_usage": {"total_usage": 1}, "throttling_data": {}},
    "memory_stats": {"usage": 9, "stats": {"anon": 8}},
    "pids_stats": {},
}


def test_counters_of_an_engine_elsewhere() -> None:
    assert docker_counters.from_stats(STATS_V1, oom_kills=2, storage_bytes=77) == Counters(
        source="docker-api",
        oom_kills=2,
        memory_peak_bytes=67_108_864,
        anon_peak_bytes=6,
        cpu_s=1.234,
        throttled_s=0.5,
        throttled_periods=7,
        pids_peak=3,
        rx_bytes=11,
        tx_bytes=3,
        rx_packets=4,
        tx_packets=2,
        storage_bytes=77,
    )
    newer = docker_counters.from_stats(STATS_V2, oom_kills=None)
    assert newer.memory_peak_bytes is None
    assert newer.anon_peak_bytes == 8
    assert newer.throttled_s is None
    assert (newer.rx_bytes, newer.oom_kills) == (0, None)


def test_a_container_that_is_gone_has_empty_stats() -> None:
    empty = {"cpu_stats": {"cpu_usage": {"total_usage": 0}}, "memory_stats": {}, "pids_stats": {}}
    assert docker_counters.from_stats(empty, oom_kills=1).memory_peak_bytes is None


KILLS = [
    ("every kill since the start is remembered", ["start", "oom", "oom"], False, 2),
    ("none, and it is sure", ["start"], False, 0),
    ("none in what is remembered, but the start is forgotten", [], False, None),
    ("only the state remembers", [], True, 1),
    ("a kill among what is left of the memory", ["oom"], True, 1),
]


@pytest.mark.parametrize(
    ("happened", "flag", "kills"), [k[1:] for k in KILLS], ids=[k[0] for k in KILLS]
)
def test_kills_counted_by_events(happened: list[str], flag: bool, kills: int | None) -> None:
    assert docker_counters.counted_kills(happened, flag) == kills


# The engine's flag, its events (what, when), kills counted before and after; the last command
# began at 10.
ENDS: dict[str, tuple[bool, list[tuple[str, float]], tuple[int | None, int | None], bool]] = {
    "it killed itself": (False, [("start", 1)], (0, 0), True),
    "it killed itself, and the engine has forgotten": (False, [], (0, 0), True),
    "it killed itself, seen from afar": (False, [("start", 1)], (None, None), True),
    "it killed itself after an earlier kill for memory": (True, [("oom", 9)], (1, 1), True),
    "it killed itself, and an earlier kill is told of late": (True, [("oom", 10.1)], (1, 1), True),
    "it killed itself, and an earlier kill is told of again and again": (
        True,
        [("oom", 9.9), ("oom", 10.1), ("oom", 10.2), ("oom", 10.4)],
        (1, 1),
        True,
    ),
    "the engine told of want while it ran": (True, [("oom", 9), ("oom", 11)], (1, 1), False),
    "the engine told of want at once, and none was before": (False, [("oom", 10.1)], (0, 0), False),
    "the engine told of want, seen from afar": (True, [("oom", 11)], (None, None), False),
    "the group counted a kill while it ran": (True, [], (1, 2), False),
    "the flag went up while it ran": (True, [], (0, 0), False),
    "the flag went up, seen from afar": (True, [], (None, None), False),
    "someone killed it": (False, [("start", 1), ("kill", 11)], (0, 0), False),
    "someone stopped it": (False, [("kill", 11), ("stop", 12)], (0, 0), False),
}


@pytest.mark.parametrize(("flag", "happened", "kills", "own"), ENDS.values(), ids=ENDS.keys())
def test_who_ended_a_container(
    flag: bool,
    happened: list[tuple[str, float]],
    kills: tuple[int | None, int | None],
    own: bool,
) -> None:
    events = [docker_loss.Event(*event) for event in happened]
    counted = docker_loss.Kills(*kills)
    assert docker_loss.self_inflicted({"OOMKilled": flag}, events, counted, since=10) is own


LOSSES = [
    ({"Running": True, "OOMKilled": False, "ExitCode": 0}, "engine", False),
    ({"Running": False, "OOMKilled": True, "ExitCode": 137}, "oom_killed", True),
    ({"Running": False, "OOMKilled": False, "ExitCode": 137}, "exited", False),
    ({"Running": False, "OOMKilled": False, "ExitCode": 137, "Status": "dead"}, "removed", False),
]


@pytest.mark.parametrize(("state", "reason", "oom_killed"), LOSSES)
def test_a_lost_container_has_a_reason(
    state: dict[str, Any], reason: str, oom_killed: bool
) -> None:
    facts = docker_loss.from_state(state, "reset by peer").facts
    assert (facts["reason"], facts["oom_killed"]) == (reason, oom_killed)


def test_two_lives_add_up() -> None:
    first = Counters(source="x", oom_kills=1, memory_peak_bytes=9, cpu_s=1.5, rx_bytes=None)
    second = Counters(source="x", oom_kills=2, memory_peak_bytes=4, cpu_s=0.5, storage_bytes=3)
    assert docker_counters.summed(first, second) == Counters(
        source="x", oom_kills=3, memory_peak_bytes=9, cpu_s=2.0, storage_bytes=3
    )


def test_a_containers_writes_lie_in_its_layer_and_volumes() -> None:
    inspected = {
        "GraphDriver": {"Name": "overlay2", "Data": {"UpperDir": "/d/overlay2/x/diff"}},
        "Mounts": [{"Type": "volume", "Source": "/d/volumes/v/_data"}, {"Type": "tmpfs"}],
    }
    assert written_folders(inspected) == [Path("/d/overlay2/x/diff"), Path("/d/volumes/v/_data")]
    assert written_folders({"GraphDriver": {"Name": "btrfs", "Data": None}}) == []


def test_what_an_engine_says_of_itself() -> None:
    facts = read_facts(
        {
            "ServerVersion": "27.1",
            "Driver": "overlay2",
            "DriverStatus": [["Backing Filesystem", "xfs"]],
            "CgroupVersion": "2",
            "CgroupDriver": "systemd",
            "DefaultRuntime": "runc",
            "SecurityOptions": ["name=seccomp", "name=rootless"],
            "NCPU": 4,
            "MemTotal": 8,
            "MemoryLimit": True,
            "SwapLimit": False,
        },
        "1.46",
    )
    assert (facts.cgroup_version, facts.backing_filesystem, facts.rootless) == (2, "xfs", True)
    assert (facts.cores, facts.memory_bytes, facts.swap_limit) == (4, 8, False)
    assert read_facts({}, "1.41").cgroup_version is None
