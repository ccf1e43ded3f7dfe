"""Egress as an assigned factor, end to end: real links, real fetches, a report that tells it."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest
from typer.testing import CliRunner

from infranoise.analysis.card import card
from infranoise.analysis.factor import Factor
from infranoise.analysis.findings import findings
from infranoise.analysis.read_ledger import Study, read_study
from infranoise.analysis.run_facts import run_facts
from infranoise.analysis.study_cells import study_cells
from infranoise.cli.main import app
from infranoise.models.ledger import reading
from infranoise.models.ledger.reading import AttemptLine
from infranoise.models.ledger.store import open_store
from infranoise.workers.network.shaping import why_no_links

pytestmark = [pytest.mark.links, pytest.mark.cgroup]
EXPERIMENT = """
name = "far"
tasks = ["bundled:egress"]
samples = 1
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

    store: Path
    study: Study
    attempts: tuple[AttemptLine, ...]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, missing: Callable[[str], NoReturn]) -> Done:
    if why := why_no_links():
        missing(why)
    folder = tmp_path_factory.mktemp("far")
    (folder / "far.toml").write_text(EXPERIMENT)
    ended = subprocess.run(
        [sys.executable, "-m", "infranoise", "run", "far.toml", "--out", "out", "--slots", "2"],
        cwd=folder,
        env=os.environ | {"INFRANOISE_STATE": str(folder / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    store = folder / "out/ledger.sqlite"
    engine = open_store(store)
    return Done(store, read_study(engine), tuple(reading.attempts(engine, "far")))


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


def test_the_factor_is_known_as_assigned_and_readings_as_associations(done: Done) -> None:
    more = [Factor("rx_bytes")]
    beside = findings(*study_cells(done.study, more=more)).attribution
    assert beside is not None
    roles = {row.factor: row.role for row in beside.factors}
    assert roles == {"egress_mbps": "assigned", "rx_bytes": "observed"}
    alone = findings(*study_cells(done.study)).attribution
    assert alone is not None
    (unlimited,) = alone.factors[0].levels
    assert (unlimited.level, unlimited.est) == ("unlimited", 0.5)


def test_the_card_states_the_caps(done: Done) -> None:
    stated = card(done.study, run_facts(done.study)).egress
    assert stated == ("internal", "link capped at 8 Mbit/s", "link as fast as it is")


def test_a_trial_s_page_shows_its_link_and_its_load(done: Done) -> None:
    words = ("trial", "show", done.attempts[0].trial, "--store", str(done.store))
    shown = CliRunner().invoke(app, words).output
    assert "egress_down_mbps" in shown
    assert "load at peak" in shown
