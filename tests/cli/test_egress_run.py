"""Egress as an assigned factor, end to end: real links, real fetches, a report that tells it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from infranoise.models.ledger import reading
from infranoise.models.ledger.reading import AttemptLine
from infranoise.models.ledger.store import open_store
from infranoise.workers.network.shaping import why_no_links

pytestmark = [pytest.mark.links, pytest.mark.cgroup]
EXPERIMENT = """
name = "far"
tasks = ["bundled:egress"]
samples = 2
bands = ["uncapped"]
[[entries]]
agent = "policy"
model = "lean"
[[entries]]
agent = "policy"
model = "heavy"
[factors]
egress_mbps = ["unlimited", 8]
[pods]
network = "internal"
runtime = "process"
"""


@dataclass(frozen=True)
class Done:
    """A run that has ended well."""

    folder: Path
    environ: dict[str, str]
    attempts: tuple[AttemptLine, ...]

    def infranoise(self, *words: str) -> str:
        return infranoise(self.folder, self.environ, *words)


def infranoise(folder: Path, environ: dict[str, str], *words: str) -> str:
    command = [sys.executable, "-m", "infranoise", *words]
    ended = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, missing: Callable[[str], NoReturn]) -> Done:
    if why := why_no_links():
        missing(why)
    folder = tmp_path_factory.mktemp("far")
    (folder / "far.toml").write_text(EXPERIMENT)
    environ = os.environ | {"INFRANOISE_STATE": str(folder / "state")}
    infranoise(folder, environ, "run", "far.toml", "--out", "out", "--slots", "2", "--json")
    attempts = tuple(reading.attempts(open_store(folder / "out/ledger.sqlite"), "far"))
    return Done(folder, environ, attempts)


def test_the_link_alone_decides_who_is_in_time(done: Done) -> None:
    ends = {
        (line.entry, line.levels["egress_mbps"], line.verdict, line.cause) for line in done.attempts
    }
    assert ends == {
        ("lean", "unlimited", "passed", ""),
        ("heavy", "unlimited", "passed", ""),
        ("lean", "8", "passed", ""),
        ("heavy", "8", "failed", "agent_timeout"),
    }


def test_every_attempt_tells_its_cap_what_was_measured_and_what_came_through(done: Done) -> None:
    for line in done.attempts:
        assert line.record is not None
        conditions, counters = line.record.conditions, line.record.usage.counters
        effective = conditions.effective
        assert effective is not None
        assert counters is not None
        assert conditions.network == "internal"
        if line.levels["egress_mbps"] == "8":
            assert effective.egress_mbps == pytest.approx(8.0)
            assert 4.0 < (effective.egress_down_mbps or 0) < 10.0
        else:
            assert effective.egress_mbps is None
            assert (effective.egress_down_mbps or 0) > 50.0
        if line.verdict == "passed":
            assert (counters.rx_bytes or 0) > 2_500_000
            assert (counters.rx_packets or 0) > 10


def test_load_clock_and_warnings_are_on_every_attempt(done: Done) -> None:
    for line in done.attempts:
        assert line.record is not None
        around = line.record.conditions
        assert around.node_profile
        assert None not in (around.load_start, around.load_peak, around.load_end)
        assert around.clock_offset_s is not None
        assert abs(around.clock_offset_s) <= (around.clock_error_s or 0) + 0.05
        assert around.co_running_mean is not None
        assert around.warnings is not None


def test_the_report_knows_the_factor_as_assigned_and_readings_as_associations(done: Done) -> None:
    found: dict[str, Any] = json.loads(
        done.infranoise(
            "analyze", "out", "--factor", "rx_bytes", "--factor", "peak_load1", "--json"
        )
    )
    roles = {row["factor"]: row["role"] for row in found["factors"]}
    assert roles == {"egress_mbps": "assigned", "rx_bytes": "observed", "peak_load1": "observed"}
    (alone,) = json.loads(done.infranoise("analyze", "out", "--json"))["factors"]
    assert (alone["levels"][0]["level"], alone["levels"][0]["est"]) == ("unlimited", 0.5)


def test_a_trial_s_page_shows_its_link_and_its_load(done: Done) -> None:
    trial = next(line.trial for line in done.attempts)
    shown = done.infranoise("trial", "show", trial, "--store", "out/ledger.sqlite")
    assert "egress_down_mbps" in shown
    assert "load at peak" in shown
