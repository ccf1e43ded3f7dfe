"""Models end to end: `run` with its own gateway, two providers, real pods; and where their keys are
while it runs and afterwards: nowhere but in the gateway.
"""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import docker
import docker.errors
import pytest
import redis
from model_provider import KEY, Provider, Turn, model_provider

from infranoise.bundled.materialise import materialise
from infranoise.models.cache_folder import cache_folder
from infranoise.models.ledger import reading
from infranoise.models.ledger.api_calls import api_calls, spent
from infranoise.models.ledger.reading import AttemptLine
from infranoise.models.ledger.store import open_store
from infranoise.scheduler.broker import embedded

EXPERIMENT = """
name = "models"
tasks = ["{task}"]
samples = 1
bands = ["1x", "3x"]

[providers.maker]
dialect = "anthropic"
base_url = "{url}"
key = "env:MAKER_KEY"
max_in_flight = 2

[providers.open]
dialect = "openai"
base_url = "{url}/v1"
key = "file:{keyfile}"

[models.large]
provider = "maker"
upstream = "large-2026"
price = {{ input = 1000.0, output = 4000.0 }}
[models.small]
provider = "open"
price = {{ input = 100.0, output = 400.0 }}

[limits]
calls = 10
usd = 0.5
api_wait = "excluded"

[run]
budget_usd = {budget}

[[entries]]
agent = "shell"
models = ["large", "small"]
{more}
[pods]
runtime = "{runtime}"
network = "public"
"""
# An agent in the pod that looks for keys wherever a run could put them, without writing what it
# looks for. What the node shows read-only of its own programs is large and older than the run.
SNOOP = """
[[entries]]
agent = "command"
model = "large"
name = "snoop"
command = ["sh", "-c", '''env | sort; cat /proc/*/environ /proc/*/cmdline 2>/dev/null;
grep -r -s -o "sk-cana""ry[a-z0-9-]*" /app /logs /tmp /etc /home /run /var /dev/shm;
find /root /opt /usr/local -maxdepth 3 -type f -mmin -60 -exec grep -so "sk-cana""ry[a-z0-9-]*" {} +
true''']
"""
SOLUTION = """python3 - <<'END'
limit = int(open("limit.txt").read())
sieve = bytearray([1]) * limit
before, best = None, (0, 0, 0)
for n in range(2, limit):
    if sieve[n]:
        sieve[n * n::n] = bytes(len(range(n * n, limit, n)))
        if before and n - before > best[0]:
            best = (n - before, before, n)
        before = n
open("gap.txt", "w").write(f"{best[1]} {best[2]}\\n")
END"""


def solver(asked: dict[str, Any]) -> Turn:
    """Looks, solves, and is done: by how much was said before, whoever asks."""
    answers = sum(message["role"] == "assistant" for message in asked["messages"])
    return (Turn(tool="cat limit.txt"), Turn(tool=SOLUTION), Turn("done"))[min(answers, 2)]


@dataclass(slots=True)
class Ended:
    """A run that has ended, and what was seen of it on the way."""

    folder: Path
    code: int
    said: str
    messages: str
    processes: set[str] = field(default_factory=set)

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def attempts(self) -> tuple[AttemptLine, ...]:
        return tuple(reading.attempts(open_store(self.out / "ledger.sqlite"), "models"))


def run(
    folder: Path, maker: Provider, runtime: str, *, budget: float = 100.0, more: str = ""
) -> Ended:
    """Run the experiment, watching the queue server and the process list."""
    tasks = {path.name: path for path in materialise("headroom", cache_folder(os.environ))}
    keyfile = folder / "key"
    keyfile.write_text(f"{KEY}\n")
    text = EXPERIMENT.format(task=tasks["prime-gap"], url=maker.url, keyfile=keyfile,
                             budget=budget, more=more, runtime=runtime)  # fmt: skip
    (folder / "models.toml").write_text(text)
    seen: set[str] = set()

    def looked(asked: dict[str, Any]) -> Turn:
        seen.update(command_lines())
        return solver(asked)

    maker.script = looked
    with embedded() as broker, monitored(broker) as messages:
        ended = subprocess.run(
            [sys.executable, "-m", "infranoise", "run", "models.toml", "--out", "out", "--slots=2"],
            cwd=folder,
            env=os.environ
            | {
                "INFRANOISE_STATE": str(folder / "state"),
                "INFRANOISE_BROKER_URL": broker,
                "MAKER_KEY": KEY,
            },
            capture_output=True,
            text=True,
            check=False,
        )
    keyfile.unlink()
    said = ended.stdout + ended.stderr
    return Ended(folder, ended.returncode, said, messages[0], seen)


def command_lines() -> Iterator[str]:
    """Every process's arguments, and the environment of those that run attempts."""
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (place / "cmdline").read_bytes().decode(errors="replace")
            yield words
            if "infranoise.workers.app" in words:
                yield f"worker {(place / 'environ').read_bytes().decode(errors='replace')}"


@contextmanager
def monitored(broker: str) -> Iterator[list[str]]:
    """Every command that the queue server is sent while inside; complete when it is left."""
    place, heard = urlsplit(broker), [""]
    with socket.create_connection((place.hostname, place.port), timeout=30) as listening:
        listening.sendall(f"AUTH {place.username} {place.password}\r\nMONITOR\r\n".encode())

        def listen() -> None:
            raw = b""
            while b"the end of the test" not in raw[-300:]:
                raw += listening.recv(1 << 20)
            heard[0] = raw.decode(errors="replace")

        thread = threading.Thread(target=listen, daemon=True)
        listening.settimeout(None)
        thread.start()
        yield heard
        with redis.Redis.from_url(broker) as client:
            client.echo("the end of the test")
        thread.join(20)
        assert heard[0], "the queue server was not heard to the end"


@pytest.fixture(scope="module")
def maker() -> Iterator[Provider]:
    with model_provider() as provider:
        yield provider


@dataclass(frozen=True, slots=True)
class Two:
    """A run that its budget stopped, and the same with a higher one."""

    first: Ended
    done: tuple[str, ...]
    again: Ended


@pytest.fixture(scope="module")
def two(maker: Provider, tmp_path_factory: pytest.TempPathFactory) -> Two:
    folder = tmp_path_factory.mktemp("process")
    first = run(folder, maker, "process", budget=0.55, more=SNOOP)
    done = tuple(line.id for line in first.attempts if line.verdict)
    return Two(first, done, run(folder, maker, "process", more=SNOOP))


@pytest.fixture
def on_processes(two: Two) -> Ended:
    assert two.again.code == 0, two.again.said
    return two.again


def test_both_models_solve_a_bundled_task(on_processes: Ended) -> None:
    shell = [line for line in on_processes.attempts if line.entry.startswith("shell/")]
    assert {line.entry for line in shell} == {"shell/large", "shell/small"}
    assert {(line.verdict, line.band) for line in shell} == {("passed", "1x"), ("passed", "3x")}


def test_a_model_solves_it_in_a_container(
    maker: Provider, tmp_path: Path, missing: Callable[[str], NoReturn]
) -> None:
    try:
        client = docker.APIClient(version="auto")
        client.inspect_image("python:3.12-slim")
        client.close()
    except docker.errors.DockerException as error:
        missing(f"a Docker engine with python:3.12-slim (deploy/base-image.sh): {error}")
    ended = run(tmp_path, maker, "docker", more=SNOOP)
    assert ended.code == 0, ended.said
    shell = [line.verdict for line in ended.attempts if line.entry != "snoop"]
    assert shell == ["passed"] * 4
    assert KEY not in told_by_the_snoop(ended)
    assert "ANTHROPIC_BASE_URL=http://" in told_by_the_snoop(ended)


def test_calls_are_in_the_ledger_with_what_they_cost(on_processes: Ended) -> None:
    engine = open_store(on_processes.out / "ledger.sqlite")
    calls = list(api_calls(engine, "models"))
    assert len(calls) == 4 * 3
    assert {call.provider for call in calls} == {"maker", "open"}
    total = 6 * (10 * 1000 + 5 * 4000) / 1e6 + 6 * (10 * 100 + 5 * 400) / 1e6
    assert spent(engine, "models").cost_usd == pytest.approx(total)
    lines = [line for line in on_processes.attempts if line.entry == "shell/large"]
    for line in lines:
        assert line.record is not None
        assert line.record.usage.cost_usd == pytest.approx(0.09)
        assert line.record.usage.api_calls == 3
    assert f"{total:.2f} of 100.00 USD" in on_processes.said


def told_by_the_snoop(ended: Ended) -> str:
    kept = ended.out / "artefacts"
    ids = [line.id for line in ended.attempts if line.entry == "snoop"]
    return "".join((kept / id_ / "agent.stdout").read_text() for id_ in ids)


def test_the_key_is_in_no_pod_message_process_log_row_or_report(
    two: Two, on_processes: Ended
) -> None:
    told = told_by_the_snoop(on_processes)
    assert "ANTHROPIC_API_KEY=inr1." in told  # the token is what the pod has
    assert KEY not in told
    for ended in (two.first, two.again):
        assert len(ended.messages) > 10_000
        assert KEY not in ended.messages
        assert [one for one in ended.processes if one.startswith("worker ")]
        assert not [one for one in ended.processes if KEY in one]
        assert KEY not in ended.said
    files = [path for path in on_processes.folder.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [str(path) for path in files if KEY.encode() in path.read_bytes()] == []


def test_tokens_are_in_no_file_but_what_the_pod_printed(on_processes: Ended) -> None:
    files = [path for path in on_processes.out.rglob("*") if path.is_file()]
    holding = {path.name for path in files if b"inr1." in path.read_bytes()}
    assert holding <= {"agent.stdout", "ledger.sqlite", "ledger.sqlite-wal"}  # the log's tail


def test_a_budget_stops_the_run_and_a_higher_one_goes_on(two: Two) -> None:
    assert two.first.code == 8, two.first.said
    assert "raise run.budget_usd" in two.first.said
    assert 0 < len(two.done) < 6
    ended = [line for line in two.again.attempts if line.accepted]
    assert len(ended) == 6
    assert set(two.done) <= {line.id for line in ended}
    assert json.loads((two.again.out / "report.json").read_text())
