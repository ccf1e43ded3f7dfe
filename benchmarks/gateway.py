"""Five hundred concurrent streams through the gateway: `python benchmarks/gateway.py`

A scripted provider streams answers event by event; a client holds so many streams open at once,
directly and through the gateway, in turns of one run. Provider, gateway and client are processes of
their own; what is told of the gateway is its own CPU time and memory. Ends with status 1 where a
goal is missed: the p50 of a whole answer at most 1.1 times the direct one, 2 ms of CPU per call,
and no more memory after the last turn than after the first, but for a tenth.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import aiohttp
import redis
import uvloop

from infranoise.gateway.serve import Duty, Place, serve
from infranoise.gateway.upstream import upstreams
from infranoise.models.api_token import Claims, Seal
from infranoise.models.lease import keys
from infranoise.models.provider import Provider
from infranoise.scheduler.broker import embedded

SERVICES = Path(__file__).parents[1] / "tests" / "services"
SECRET, KEY_VARIABLE = "a secret of this benchmark", "PROVIDER_KEY"
GOAL_RATIO, GOAL_CPU_MS, GOAL_GROWTH = 1.1, 2.0, 1.1
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Shape:
    """What is asked: streams at once, calls of each in a turn, and an answer's own times."""

    streams: int
    calls: int
    events: int
    first_byte_s: float
    event_s: float


@dataclass(frozen=True, slots=True)
class Turn:
    """What the client saw in one turn, in seconds."""

    first_p50_s: float
    whole_p50_s: float
    whole_p95_s: float
    calls: int


def main() -> int:
    """Measure, print one table, and say whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--calls", type=int, default=2, help="calls of each stream in a turn")
    parser.add_argument("--turns", type=int, default=3, help="of each way")
    parser.add_argument("--events", type=int, default=24, help="of an answer")
    parser.add_argument("--first-byte", type=float, default=1.0)
    parser.add_argument("--event", type=float, default=0.25, help="seconds between events")
    parser.add_argument("--out", type=Path, help="write the figures there as JSON")
    asked = parser.parse_args()
    shape = Shape(asked.streams, asked.calls, asked.events, asked.first_byte, asked.event)
    found = measure(shape, asked.turns)
    for name in ("direct", "gateway"):
        one = found[name]
        print(
            f"{name:8} first byte p50 {one['first_p50_s']:.3f} s, whole p50 "
            f"{one['whole_p50_s']:.3f} s, p95 {one['whole_p95_s']:.3f} s"
        )
    figures = found["gateway"]
    print(
        f"added: {figures['ratio']:.3f}x p50 (goal {GOAL_RATIO}x), "
        f"{figures['cpu_ms']:.2f} ms CPU per call of {shape.events} events (goal {GOAL_CPU_MS}), "
        f"memory {figures['first_mib']:.0f} to {figures['last_mib']:.0f} MiB over "
        f"{figures['calls']:.0f} calls"
    )
    if asked.out:
        asked.out.write_text(json.dumps({"shape": asdict(shape), **found}, indent=1))
    met = (
        figures["ratio"] <= GOAL_RATIO
        and figures["cpu_ms"] <= GOAL_CPU_MS
        and figures["last_mib"] <= GOAL_GROWTH * figures["first_mib"]
    )
    return 0 if met else 1


def measure(shape: Shape, turns: int) -> dict[str, dict[str, float]]:
    """Figures of both ways, medians over their turns."""
    with embedded() as broker, _provider(shape) as url, _gateway(broker, url) as (ours, pid):
        tokens = list(_tokens(broker, shape.streams))
        ways: dict[str, list[Turn]] = {"direct": [], "gateway": []}
        cpu_s, memory, calls = 0.0, [], 0
        _turn(ours, tokens[:20], shape)  # connections and caches are there before anything counts
        for _ in range(turns):
            ways["direct"].append(_turn(url, [_key()] * shape.streams, shape))
            before_s = _cpu_s(pid)
            ways["gateway"].append(_turn(ours, tokens, shape))
            cpu_s += _cpu_s(pid) - before_s
            calls += ways["gateway"][-1].calls
            memory.append(_resident_mib(pid))
    found = {name: _typical(each) for name, each in ways.items()}
    found["gateway"] |= {
        "ratio": found["gateway"]["whole_p50_s"] / found["direct"]["whole_p50_s"],
        "cpu_ms": 1000 * cpu_s / calls,
        "first_mib": memory[0],
        "last_mib": memory[-1],
        "calls": float(calls),
    }
    return found


def _turn(url: str, tokens: list[str], shape: Shape) -> Turn:
    return uvloop.run(_streams(url, tokens, shape))


async def _streams(url: str, tokens: list[str], shape: Shape) -> Turn:
    firsts: list[float] = []
    wholes: list[float] = []
    body = json.dumps({"model": "m", "max_tokens": 99, "stream": True, "messages": []})

    length_s = shape.first_byte_s + shape.events * shape.event_s

    async def stream(session: aiohttp.ClientSession, number: int, token: str) -> None:
        await asyncio.sleep(length_s * number / len(tokens))  # agents do not begin all at once
        for _ in range(shape.calls):
            since = time.perf_counter()
            headers = {"x-api-key": token, "content-type": "application/json"}
            async with session.post(f"{url}/v1/messages", data=body, headers=headers) as answer:
                assert answer.status == 200, await answer.text()
                first = True
                async for _chunk in answer.content.iter_any():
                    if first:
                        firsts.append(time.perf_counter() - since)
                        first = False
            wholes.append(time.perf_counter() - since)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(stream(session, *one) for one in enumerate(tokens)))
    wholes.sort()
    return Turn(
        statistics.median(firsts),
        statistics.median(wholes),
        wholes[int(0.95 * (len(wholes) - 1))],
        len(wholes),
    )


def _typical(turns: list[Turn]) -> dict[str, float]:
    names = ("first_p50_s", "whole_p50_s", "whole_p95_s")
    return {name: statistics.median(getattr(turn, name) for turn in turns) for name in names}


def _tokens(broker: str, count: int) -> Iterator[str]:
    """Tokens of attempts that hold their leases."""
    seal = Seal(SECRET)
    with redis.Redis.from_url(broker) as client:
        for number in range(count):
            attempt = f"t{number}.1"
            client.hset(keys.lease_key(attempt), mapping={"fence": 1, "started": 1, "node": "n"})
            yield seal.mint(
                Claims(
                    experiment="e",
                    attempt=attempt,
                    fence=1,
                    provider="p",
                    dialect="anthropic",
                    model="m",
                    upstream="m",
                    expires_at=time.time() + 3600,
                )
            )


@contextmanager
def _provider(shape: Shape) -> Iterator[str]:
    """The scripted provider of the tests, in a process of its own."""
    with _process(_provide, shape) as (url, _):
        yield url


def _provide(told: Connection, shape: Shape) -> None:
    sys.path.insert(0, str(SERVICES))
    from model_provider import Turn as Says
    from model_provider import model_provider

    text = " ".join(["tokens"] * (shape.events - 5))  # five events are there beside the words
    says = Says(text=text, first_byte_s=shape.first_byte_s, chunk_s=shape.event_s)
    with model_provider((says,)) as provider:
        told.send(provider.url)
        told.recv()


@contextmanager
def _gateway(broker: str, url: str) -> Iterator[tuple[str, int]]:
    with _process(_relay, (broker, url)) as found:
        yield found


def _relay(told: Connection, of: tuple[str, str]) -> None:
    broker, url = of
    provider = Provider(dialect="anthropic", base_url=url, key=f"env:{KEY_VARIABLE}")
    keyed = upstreams({"p": provider}, {KEY_VARIABLE: _key()})
    duty = Duty(Place(), Seal(SECRET), broker, keyed)
    serve(duty, lambda port: told.send(f"http://127.0.0.1:{port}"), told.recv)


def _key() -> str:
    sys.path.insert(0, str(SERVICES))
    from model_provider import KEY

    return KEY


@contextmanager
def _process(work: object, of: object) -> Iterator[tuple[str, int]]:
    """Run something in a process of its own until left; gives what it said first, and its pid."""
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=work, args=(theirs, of), daemon=True)  # type: ignore[arg-type]
    process.start()
    try:
        assert process.pid is not None
        yield ours.recv(), process.pid
    finally:
        ours.send("over")
        process.join(20)
        process.kill()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _resident_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / (1 << 20)


if __name__ == "__main__":
    sys.exit(main())
