"""What the commands of a fleet say of its ledger, asked as people ask: no service is needed."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

from infranoise.cli.main import app
from infranoise.cli.watch import Watch
from infranoise.models.errors import DesignError, LedgerError
from infranoise.models.evidence import Evidence, Phase
from infranoise.models.ledger.attempts import owed, place
from infranoise.models.ledger.ingest import Ending, ingest
from infranoise.models.ledger.store import open_store
from infranoise.models.message import AttemptRecord

Make = Callable[..., AttemptRecord]
TEXT = """
tasks = ["tasks/small"]
samples = 2
bands = ["1x", "uncapped"]
[[entries]]
agent = "oracle"
[pods]
runtime = "process"
network = "none"
"""
TASK = {
    "task.toml": 'version = "1.0"\n[environment]\nmemory_mb = 64\n',
    "instruction.md": "Do it.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
    "tests/test.sh": "echo 1 > /logs/verifier/reward.txt",
    "solution/solve.sh": "true",
}
UNKNOWN = ("status nope", "pause nope", "resume nope", "cancel nope", "trial show no", "logs no")


class Ledger:
    """A submitted experiment of four trials, of which two have ended."""

    def __init__(self, folder: Path, make: Make) -> None:
        self.store = folder / "ledger.sqlite"
        for path, text in TASK.items():
            file = folder / "tasks/small" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.file = folder / "small.toml"
        self.file.write_text(TEXT)
        self.submitted = self.told("submit", str(self.file))
        self.engine: Engine = open_store(self.store)
        self.trials = owed(self.engine, "small", limit=2)
        place(self.engine, "small", "n1", self.trials)
        killed = Phase(name="agent", exit_code=137, oom_kills=3)
        records = (
            make(self.trials[0].id),
            make(self.trials[1].id, evidence=Evidence(phases=(killed,), reward=0.0)),
        )
        endings = [replace(Ending.of(record), ended_at=time.time()) for record in records]
        ingest(self.engine, endings, max_attempts=1)

    def run(self, *words: str) -> str:
        ended = CliRunner().invoke(app, words, env={"INFRANOISE_STORE": str(self.store)})
        if ended.exception is not None and not isinstance(ended.exception, SystemExit):
            raise ended.exception
        return ended.stdout

    def told(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))


@pytest.fixture
def ledger(tmp_path: Path, make_record: Make) -> Iterator[Ledger]:
    made = Ledger(tmp_path, make_record)
    yield made
    made.engine.dispose()


def test_submit_says_what_it_took_and_takes_it_once(ledger: Ledger) -> None:
    assert ledger.submitted | {"blobs": "", "warnings": []} == {
        **{"experiment": "small", "new": True, "trials": 4, "done": 0},
        **{"blobs": "", "warnings": []},
    }
    again = ledger.told("submit", str(ledger.file))
    assert (again["new"], again["trials"], again["done"]) == (False, 4, 2)
    assert "known already, 2 of 4 trials done" in ledger.run("submit", str(ledger.file))


def test_status_counts_outcomes_by_band_and_names_causes(ledger: Ledger) -> None:
    told = ledger.told("status", "small")
    assert (told["experiment"]["n"], told["experiment"]["planned"]) == (2, 4)
    assert sum(band["infra_errors"] for band in told["bands"]) == 1
    assert told["infra_causes"] == {"oom_killed": 1}
    assert told["fleet"] is None
    said = " ".join(ledger.run("status", "small").split())
    assert "small: active · 2/4 trials" in said
    assert "infra errors: 1 oom_killed" in said


def test_nothing_is_said_of_the_time_left_while_nothing_goes_on(ledger: Ledger) -> None:
    assert " left ·" in ledger.run("status", "small")
    assert "is paused: nothing more of it is sent" in ledger.run("pause", "small")
    assert " left ·" not in ledger.run("status", "small")
    assert ledger.told("resume", "small") == {"experiment": "small", "state": "active"}


def test_the_rate_is_of_the_time_since_it_was_submitted(ledger: Ledger) -> None:
    told = ledger.told("status", "small")
    over_two_minutes = 1.0
    assert told["per_minute"] > over_two_minutes
    assert told["left_s"] == pytest.approx(60 * 2 / told["per_minute"])


@pytest.mark.parametrize("words", UNKNOWN)
def test_what_does_not_exist_is_a_wrong_request(ledger: Ledger, words: str) -> None:
    with pytest.raises(DesignError, match=words.split()[-1]):
        ledger.run(*words.split())


def test_a_look_at_all_experiments_names_each(ledger: Ledger) -> None:
    seen = Watch(str(ledger.store), broker=None, flower=None, name=None)
    seen.look()
    assert seen.line() == "small: active 2/4"
    experiments: Any = seen.document()["experiments"]
    assert [one["name"] for one in experiments] == ["small"]
    assert not seen.done


def test_a_watch_ends_with_its_experiment(ledger: Ledger) -> None:
    ledger.run("cancel", "small")
    assert "small" not in ledger.run("status", "small").splitlines()[-1]
    assert "cancelled · 2/4 trials" in ledger.run("watch", "small")


def test_a_trial_is_shown_with_its_evidence_in_readable_units(ledger: Ledger) -> None:
    said = ledger.run("trial", "show", ledger.trials[1].id, "--flower", "http://f:5555/")
    assert "infra_error / oom_killed" in said
    assert f"http://f:5555/task/{ledger.trials[1].id}.1" in said
    assert "weekday" in said
    told = ledger.told("trial", "show", ledger.trials[1].id)
    assert told["attempts"][0]["record"]["evidence"]["phases"][0]["oom_kills"] == 3


def test_a_trial_that_was_never_placed_says_so(ledger: Ledger) -> None:
    waiting = owed(ledger.engine, "small", limit=1)[0]
    assert "no attempt was placed yet" in ledger.run("trial", "show", waiting.id)
    with pytest.raises(DesignError, match=r"the attempts of .*: none yet"):
        ledger.run("logs", waiting.id)


def test_logs_of_what_has_not_ended_are_yet_to_come(ledger: Ledger) -> None:
    place(ledger.engine, "small", "n1", (waiting := owed(ledger.engine, "small", limit=1)))
    with pytest.raises(LedgerError, match="has not ended; its logs come home with its record"):
        ledger.run("logs", waiting[0].id)
