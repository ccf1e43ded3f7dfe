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

from infranoise.cli.fleet_view import Fleet, look_at_experiment
from infranoise.cli.main import app
from infranoise.cli.watch import Watch
from infranoise.models.api_call import ApiCall
from infranoise.models.errors import DesignError, LedgerError
from infranoise.models.evidence import Evidence, Phase
from infranoise.models.lease.capacity import Capacity
from infranoise.models.ledger.api_calls import take_calls
from infranoise.models.ledger.attempts import owed, place
from infranoise.models.ledger.ingest import Ending, ingest
from infranoise.models.ledger.store import open_store
from infranoise.models.message import AttemptRecord
from infranoise.models.provider import Tokens
from infranoise.scheduler.hello import Hello
from infranoise.scheduler.node_state import NodeState

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
        environ = {"INFRANOISE_STORE": str(self.store), "COLUMNS": "120"}
        ended = CliRunner().invoke(app, words, env=environ)
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


def test_where_every_node_is_drained_it_is_said_how_they_come_back(ledger: Ledger) -> None:
    room = Capacity(1000, 1 << 30, 2)
    drained = NodeState("n1", "drain", room, room, 0.1, Hello())
    newer = NodeState("n2", "up", room, room, 0.1, Hello(version="9.9", unread="profile.qubits: ?"))
    seen = Watch(str(ledger.store), None, None, "small")
    seen.view = look_at_experiment(ledger.engine, "small", Fleet((drained, newer), "leader"))
    assert "infranoise nodes up: n1" in seen.line()
    assert "waits: n2: its worker is infranoise 9.9" in seen.line()


def test_a_trial_is_shown_with_its_evidence_in_readable_units(ledger: Ledger) -> None:
    said = ledger.run("trial", "show", ledger.trials[1].id, "--flower", "http://f:5555/")
    assert "infra_error / oom_killed" in said
    assert f"http://f:5555/task/{ledger.trials[1].id}.1" in said
    assert "weekday" in said
    told = ledger.told("trial", "show", ledger.trials[1].id)
    assert told["attempts"][0]["record"]["evidence"]["phases"][0]["oom_kills"] == 3


def test_a_trial_is_shown_with_the_calls_of_its_model(ledger: Ledger) -> None:
    trial = ledger.trials[0].id
    take_calls(ledger.engine, three_calls(f"{trial}.1"))
    said = " ".join(ledger.run("trial", "show", trial).split())
    assert "3 calls · 2 failed · 1 429 · 1 cut · 1 retries · 4.00 s waited" in said
    assert "first byte p50 0.250 s" in said
    assert "1 0.00 0.250 1.000 ? ? 0 HTTP 429, asked to wait 7 s" in said
    assert "2 3.00 0.500 2.000 ? ? 1 HTTP 200, cut (the stream ended)" in said
    assert "3 6.00 0.250 1.000 12 5 0 HTTP 200" in said
    api = ledger.told("trial", "show", trial)["attempts"][0]["api"]
    assert [call["ending"] for call in api["calls"]] == ["complete", "cut", "complete"]
    assert (api["sum"]["wait_s"], api["sum"]["last_failed"]) == (4.0, False)
    assert ledger.told("trial", "show", ledger.trials[1].id)["attempts"][0]["api"]["calls"] == []
    assert "calls of the model" not in ledger.run("trial", "show", ledger.trials[1].id)


def test_of_very_many_calls_the_first_and_the_last_are_shown(ledger: Ledger) -> None:
    attempt = f"{ledger.trials[0].id}.1"
    take_calls(ledger.engine, [call(attempt, n, at=float(n), total_s=0.5) for n in range(200)])
    said = ledger.run("trial", "show", ledger.trials[0].id)
    assert "140 more, all with --json" in said
    shown = [line.split()[0] for line in said.splitlines() if "HTTP 200" in line]
    assert shown == [str(n) for n in (*range(1, 31), *range(171, 201))]


def call(attempt: str, number: int, **more: object) -> ApiCall:
    values: dict[str, object] = {
        **{"id": f"c{number}", "experiment": "small", "attempt": attempt, "provider": "maker"},
        **{"model": "m", "route": "/v1/messages", "at": 1e9, "ending": "complete", "status": 200},
        **{"first_byte_s": 0.25, "total_s": 1.0},
    }
    return ApiCall.model_validate(values | more)


def three_calls(attempt: str) -> list[ApiCall]:
    cut = {"ending": "cut", "first_byte_s": 0.5, "detail": "the stream ended", "retry": 1}
    return [
        call(attempt, 1, status=429, retry_after_s=7.0),
        call(attempt, 2, at=1e9 + 3, total_s=2.0, **cut),
        call(attempt, 3, at=1e9 + 6, tokens=Tokens(input=10, cache_read=2, output=5)),
    ]


def test_a_trial_that_was_never_placed_says_so(ledger: Ledger) -> None:
    waiting = owed(ledger.engine, "small", limit=1)[0]
    assert "no attempt was placed yet" in ledger.run("trial", "show", waiting.id)
    with pytest.raises(DesignError, match=r"the attempts of .*: none yet"):
        ledger.run("logs", waiting.id)


def test_logs_of_what_has_not_ended_are_yet_to_come(ledger: Ledger) -> None:
    place(ledger.engine, "small", "n1", (waiting := owed(ledger.engine, "small", limit=1)))
    with pytest.raises(LedgerError, match="has not ended; its logs come home with its record"):
        ledger.run("logs", waiting[0].id)
