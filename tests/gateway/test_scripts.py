"""Scripts on the queue's server: rounds that many share, and connections that come and go."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager

import pytest
import redis.asyncio as redis
from redis.exceptions import RedisError, ResponseError

from infranoise.gateway.scripts import Scripts
from infranoise.scheduler.broker import embedded

COUNT = "return redis.call('INCRBY', 'count', ARGV[1])"
WRONG = "return redis.call('INCRBY', 'count', 'x')"


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with embedded() as address:
        yield address


@asynccontextmanager
async def scripts(broker: str, wait_s: float = 5.0) -> AsyncIterator[Scripts]:
    pool = redis.ConnectionPool.from_url(broker, socket_timeout=None)
    running = Scripts(pool, (COUNT, WRONG), wait_s)
    try:
        yield running
    finally:
        await running.close()


def told(test: Callable[[], Coroutine[object, object, None]]) -> None:
    asyncio.run(test())


async def clients(broker: str, *command: str) -> None:
    async with redis.Redis.from_url(broker) as client:
        await client.execute_command(*command)


def test_each_asker_gets_its_own_answer(broker: str) -> None:
    async def test() -> None:
        await clients(broker, "DEL", "count")
        async with scripts(broker) as running:
            answers = await asyncio.gather(*(running.run(COUNT, [1]) for _ in range(600)))
            assert answers == list(range(1, 601))

    told(test)


def test_one_that_the_server_refuses_spoils_no_other(broker: str) -> None:
    async def test() -> None:
        await clients(broker, "SET", "count", "0")
        async with scripts(broker) as running:
            one, bad, two = await asyncio.gather(
                running.run(COUNT, [1]),
                running.run(WRONG, []),
                running.run(COUNT, [1]),
                return_exceptions=True,
            )
            assert (one, two) == (1, 2)
            assert isinstance(bad, ResponseError)

    told(test)


@pytest.mark.parametrize(
    "command",
    [("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"), ("SCRIPT", "FLUSH", "SYNC")],
    ids=["connection", "scripts"],
)
def test_what_the_server_dropped_meanwhile_is_brought_again(
    broker: str, command: tuple[str, ...]
) -> None:
    async def test() -> None:
        await clients(broker, "SET", "count", "0")
        async with scripts(broker) as running:
            assert await running.run(COUNT, [1]) == 1
            await clients(broker, *command)
            assert await running.run(COUNT, [1]) == 2

    told(test)


def test_a_server_that_says_nothing_is_an_error_in_time_and_no_more(broker: str) -> None:
    async def test() -> None:
        async with scripts(broker, wait_s=0.05) as running:
            await running.run(COUNT, [1])
            await clients(broker, "CLIENT", "PAUSE", "60000", "WRITE")
            with pytest.raises(RedisError):
                await running.run(COUNT, [1])
            await clients(broker, "CLIENT", "UNPAUSE")
        async with scripts(broker) as running:
            assert await running.run(COUNT, [1]) > 1

    told(test)


def test_an_asker_that_leaves_takes_nobody_with_it(broker: str) -> None:
    async def test() -> None:
        async with scripts(broker) as running:
            leaving = asyncio.create_task(running.run(COUNT, [1]))
            staying = asyncio.create_task(running.run(COUNT, [1]))
            await asyncio.sleep(0)
            leaving.cancel()
            assert await staying > 0

    told(test)
