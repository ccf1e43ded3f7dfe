"""`network = "gateway"` end to end: a run with its own gateway, an agent that tries everything, and
what plan, trial, card and tables tell of it."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest
from model_provider import KEY, model_provider
from outside_world import BODY, outside
from typer.testing import CliRunner

from infranoise.analysis.card import card
from infranoise.analysis.read_ledger import read_study
from infranoise.analysis.run_facts import run_facts
from infranoise.cli.main import app
from infranoise.models.ledger import reading
from infranoise.models.ledger.reading import AttemptLine
from infranoise.models.ledger.store import open_store
from infranoise.workers.outlet.link import why_no_outlets

pytestmark = [pytest.mark.links, pytest.mark.cgroup]
EXPERIMENT = """
name = "watched"
tasks = ["task"]
samples = 1
bands = ["uncapped"]
[providers.maker]
dialect = "anthropic"
base_url = "{url}"
key = "env:MAKER_KEY"
[models.large]
provider = "maker"
[[entries]]
agent = "command"
model = "large"
name = "curious"
command = ["python3", "-c", '''{curious}''']
[pods]
runtime = "process"
network = "gateway"
allow = ["site.test:{port}", "*.elsewhere.test"]
"""
CURIOUS = """
import json, os, socket, urllib.request
def fetch(url, **more):
    try:
        return urllib.request.urlopen(urllib.request.Request(url, **more), timeout=30).read()
    except OSError as error:
        print(url, error)
fetch("http://site.test:PORT/")
fetch("http://evil.test/")
fetch("http://192.0.2.10/")
said = fetch(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
    data=json.dumps({"model": "large", "max_tokens": 9,
                     "messages": [{"role": "user", "content": "hello"}]}).encode(),
    headers={"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"})
print(said)
"""


@dataclass(frozen=True)
class Done:
    """A run that has ended well, and what `plan` said before."""

    folder: Path
    plan: str
    attempt: AttemptLine
    port: int

    @property
    def store(self) -> Path:
        return self.folder / "out/ledger.sqlite"


def task(folder: Path) -> None:
    """A task that nobody solves."""
    for name in ("environment", "tests"):
        (folder / name).mkdir(parents=True)
    (folder / "task.toml").write_text("[environment]\nmemory_mb = 256\n[agent]\ntimeout_sec = 60\n")
    (folder / "instruction.md").write_text("Look around.\n")
    (folder / "environment/Dockerfile").write_text("FROM python:3.12-slim\nWORKDIR /app\n")
    (folder / "tests/test.sh").write_text("echo 0 > /logs/verifier/reward.txt\n")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, missing: Callable[[str], NoReturn]) -> Done:
    if why := why_no_outlets():
        missing(why)
    folder = tmp_path_factory.mktemp("watched")
    task(folder / "task")
    with outside() as world, model_provider() as maker:
        curious = CURIOUS.replace("PORT", str(world.port))
        text = EXPERIMENT.format(url=maker.url, port=world.port, curious=curious)
        (folder / "watched.toml").write_text(text)
        environ = os.environ | {
            "INFRANOISE_STATE": str(folder / "state"),
            "INFRANOISE_EGRESS_HOSTS": "site.test=127.0.0.1",
            "MAKER_KEY": KEY,
        }

        planned = CliRunner().invoke(app, ["plan", str(folder / "watched.toml")], env=environ)
        assert planned.exit_code == 0, planned.output
        ended = subprocess.run(
            [sys.executable, "-m", "infranoise", "run", "watched.toml", "--out", "out"],
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
    (line,) = reading.attempts(open_store(folder / "out/ledger.sqlite"), "watched")
    return Done(folder, planned.output, line, world.port)


def test_the_agent_reaches_its_model_and_what_is_allowed_and_all_of_it_is_told(done: Done) -> None:
    record = done.attempt.record
    assert record is not None
    assert "done" in record.logs.agent.tail, "the model's answer, through gateway and outlet"
    seen = record.evidence.egress
    assert seen is not None
    hosts = {(one.host, one.port): one for one in seen.hosts}
    assert hosts["site.test", done.port].bytes_in > len(BODY)
    gateway = next(one for one in seen.hosts if one.host == "gateway")
    assert gateway.connections == 1
    assert [(one.to, one.port) for one in seen.refused] == [("192.0.2.10", 80)]
    assert [(one.name, one.fault) for one in seen.dns] == [("evil.test", "forbidden")]
    assert seen.probe["the gateway"] == seen.probe["an allowed name"] == "reached"
    assert record.evidence.api is not None
    assert record.evidence.api.calls == 1, "what was tried before the trial is no call"


def test_that_forbidden_hosts_were_asked_for_is_no_infra_error(done: Done) -> None:
    assert (done.attempt.verdict, done.attempt.cause) == ("failed", "wrong")


def test_plan_trial_and_card_tell_the_network_and_its_list(done: Done) -> None:
    allow = f"*.elsewhere.test, site.test:{done.port}"
    assert f"the gateway, site.test:{done.port}, *.elsewhere.test" in " ".join(done.plan.split())
    words = ("trial", "show", done.attempt.trial, "--store", str(done.store))
    shown = CliRunner().invoke(app, words, env={"COLUMNS": "200"}).output
    assert "way out" in shown
    assert "name: forbidden" in shown
    assert "evil.test" in shown
    study = read_study(open_store(done.store))
    facts = run_facts(study)
    assert card(study, facts).egress == (f"gateway ({allow})",)
    assert {(row.host, row.how, row.attempts, row.watched) for row in facts.hosts} >= {
        (f"site.test:{done.port}", "reached", 1, 1),
        ("192.0.2.10:80", "tcp refused", 1, 1),
        ("evil.test", "name forbidden", 1, 1),
    }
    page = (done.folder / "out/report.html").read_text(encoding="utf-8")
    assert "evil.test" in page
    assert f"site.test:{done.port}" in page
    (row,) = study.attempts.select("egress_hosts", "egress_refused", "network").iter_rows()
    assert row == (1, 2, f"gateway ({allow})")
