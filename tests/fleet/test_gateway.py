"""A fleet whose agents reach their models through a gateway of its own process: verdicts, calls in
the ledger, tokens that end with their leases, and a budget that loses nothing.
"""

import contextlib
import json
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis
from asking import post
from model_provider import KEY, Provider, Turn, model_provider
from own_fleet import Fleet, Process, until
from own_gateway import SECRET

from infranoise.models.api_token import Claims, Seal
from infranoise.models.lease import keys
from infranoise.models.ledger.api_calls import api_calls, spent
from infranoise.models.ledger.reading import AttemptLine

MODELS = """
[providers.maker]
dialect = "anthropic"
base_url = "{url}"
key = "env:MAKER_KEY"
[providers.open]
dialect = "openai"
base_url = "{url}/v1"
key = "env:MAKER_KEY"
"""
EXPERIMENT = """
[models.large]
provider = "maker"
upstream = "large-2026"
price = {{ input = 1000.0, output = 4000.0 }}
[models.small]
provider = "open"
price = {{ input = 1000.0, output = 4000.0 }}
[limits]
usd = 0.06
[[entries]]
agent = "shell"
models = {models}
"""
CALL_USD = (10 * 1000 + 5 * 4000) / 1e6  # of the provider's 10 tokens and 5


@dataclass(slots=True)
class Served:
    """A fleet, its gateway, and the provider behind it."""

    fleet: Fleet
    gateway: Process
    url: str
    maker: Provider
    client: "redis.Redis"

    def submit(self, *models: str, samples: int = 1, **run: object) -> str:
        """Submit an experiment of `shell` entries with these models; its name."""
        path = self.fleet.experiment(samples=samples, bands=["1x"])
        text = path.read_text().replace('[[entries]]\nagent = "oracle"\n', "")
        more = "".join(f"{name} = {value}\n" for name, value in run.items())
        entries = EXPERIMENT.format(models=json.dumps(models))
        path.write_text(text + more + MODELS.format(url=self.maker.url) + entries)
        return self.fleet.submit(path)

    def done(self, name: str) -> list[AttemptLine]:
        until(lambda: self.fleet.done(name), f"{name} is done", self.gateway)
        return self.fleet.attempts(name)

    def at_work(self, name: str) -> tuple[AttemptLine, str]:
        """An attempt whose call is under way, and its token."""
        until(lambda: self.under_way() == 1, "a call is under way", self.gateway)
        (line,) = self.fleet.attempts(name)
        return line, self.token(name, line)

    def token(self, name: str, line: AttemptLine) -> str:
        """The token that an attempt's agent has: minted once more, for the lease that it holds."""
        fence = self.client.hget(keys.lease_key(line.id), "fence")
        assert fence is not None
        return Seal(SECRET).mint(
            Claims(
                experiment=name,
                attempt=line.id,
                fence=int(str(fence)),
                provider="maker",
                dialect="anthropic",
                model="large",
                upstream="large-2026",
                expires_at=4e9,
            )
        )

    def leased(self, line: AttemptLine) -> bool:
        return bool(self.client.exists(keys.lease_key(line.id)))

    def buys(self, token: str) -> str:
        """Why a call with this token is refused."""
        body = {"model": "large", "max_tokens": 9, "messages": []}
        return post(self.url, "/v1/messages", token, body).headers["x-infranoise-refused"]

    def under_way(self) -> int:
        return int(post(self.url, "/infranoise/health", "", b"").json["under_way"])


@pytest.fixture(scope="module")
def served(fleet: Fleet) -> Iterator[Served]:
    with model_provider() as maker:
        file = fleet.folder / "providers.toml"
        file.write_text(MODELS.format(url=maker.url))
        secret = {"INFRANOISE_GATEWAY_SECRET": SECRET}
        words = ("gateway", str(file), "--listen", "127.0.0.1:0", "--json")
        environ = fleet.environ | secret | {"MAKER_KEY": KEY}
        gateway = Process(words, environ, fleet.folder / "gateway.log")
        try:
            until(lambda: "listening" in gateway.said(), "the gateway listens", gateway)
            (url,) = json.loads(gateway.said().splitlines()[0])["listening"]
            fleet.told_schedulers = secret | {"INFRANOISE_GATEWAY_URL": url}
            fleet.scheduler()
            fleet.worker("n1")
            fleet.await_up("n1")
            with redis.Redis.from_url(fleet.broker, decode_responses=True) as client:
                yield Served(fleet, gateway, url, maker, client)
        finally:
            gateway.kill()


def solver(asked: dict[str, Any]) -> Turn:
    """Solves the task in its first turn and says so in its second."""
    answers = sum(message["role"] == "assistant" for message in asked["messages"])
    return Turn("done") if answers else Turn(tool="touch answer")


@contextlib.contextmanager
def waiting(maker: Provider) -> Iterator[threading.Event]:
    """The provider keeps every call waiting until told, or left."""
    go_on = threading.Event()
    maker.script = lambda asked: (
        Turn("done", first_byte_s=0.0) if go_on.is_set() else Turn(hang=True)
    )
    try:
        yield go_on
    finally:
        go_on.set()


def test_agents_on_nodes_solve_it_and_every_call_is_in_the_ledger(served: Served) -> None:
    served.maker.script = solver
    name = served.submit("large", "small", samples=2)
    lines = served.done(name)
    assert {(line.entry, line.verdict) for line in lines} == {
        ("shell/large", "passed"),
        ("shell/small", "passed"),
    }
    until(lambda: spent(served.fleet.engine, name).calls == 8, "the calls are in the ledger")
    calls = list(api_calls(served.fleet.engine, name))
    assert {call.attempt for call in calls} == {line.id for line in lines}
    assert {(call.provider, call.ending, call.status) for call in calls} == {
        ("maker", "complete", 200),
        ("open", "complete", 200),
    }
    assert spent(served.fleet.engine, name).cost_usd == pytest.approx(8 * CALL_USD)
    for line in lines:
        assert line.record is not None
        assert line.record.usage.api_calls == 2
        assert line.record.clocks.api_wait_s is not None
    said = served.fleet.told("trial", "show", lines[0].trial)["attempts"][0]["api"]
    assert said["sum"]["calls"] == 2


def test_a_token_dies_with_its_attempt(served: Served) -> None:
    with waiting(served.maker):
        name = served.submit("large")
        line, token = served.at_work(name)
        served.fleet.steer(name, "cancelled")
        until(lambda: not served.leased(line), "the lease is given back", served.gateway)
        assert served.buys(token) == "over"
        until(lambda: served.under_way() == 0, "the call is cut", served.gateway)
    until(lambda: spent(served.fleet.engine, name).calls == 1, "the call is in the ledger")
    (call,) = api_calls(served.fleet.engine, name)
    assert (call.attempt, call.failed) == (line.id, False)
    assert call.ending in ("client_left", "ended")


def test_the_token_of_a_lost_worker_dies_with_its_lease(served: Served) -> None:
    with waiting(served.maker):
        name = served.submit("large")
        line, token = served.at_work(name)
        served.fleet.workers["n1"].send(signal.SIGKILL)
        (lost,) = served.done(name)
        assert (lost.verdict, lost.cause) == ("infra_error", "node_lost")
        assert served.buys(token) == "over"
        until(lambda: served.under_way() == 0, "no call is left", served.gateway)
    assert line.id == lost.id


def test_a_spent_budget_stops_new_trials_and_loses_none(served: Served) -> None:
    served.fleet.worker("n1")
    served.fleet.await_up("n1")
    served.maker.script = solver
    name = served.submit("large", samples=3, budget_usd=0.13)  # two trials and a bit
    until(lambda: len(ended(served, name)) == 2, "the budget is spent", served.gateway)
    until(lambda: "its budget is spent" in served.fleet.run("status", name), "status says so")
    first = ended(served, name)
    assert len(first) == 2
    assert not served.fleet.done(name)
    path = served.fleet.folder / f"{name}.toml"
    path.write_text(path.read_text().replace("budget_usd = 0.13", "budget_usd = 1.0"))
    served.fleet.submit(path)
    lines = served.done(name)
    assert len(lines) == 3
    assert {line.verdict for line in lines} == {"passed"}
    assert set(first) <= {line.id for line in lines}
    until(lambda: spent(served.fleet.engine, name).calls == 6, "every call is in the ledger")
    assert spent(served.fleet.engine, name).cost_usd == pytest.approx(6 * CALL_USD)


def ended(served: Served, name: str) -> list[str]:
    return [line.id for line in served.fleet.attempts(name) if line.verdict]


def test_the_key_is_on_no_node(served: Served) -> None:
    files = [path for path in Path(served.fleet.folder).rglob("*") if path.is_file()]
    assert len(files) > 20
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    environs = [Path(f"/proc/{served.fleet.workers['n1'].pid}/environ").read_bytes()]
    environs += [Path(f"/proc/{one.pid}/environ").read_bytes() for one in served.fleet.schedulers]
    assert not [one for one in environs if KEY.encode() in one]
    assert SECRET.encode() not in environs[0]
