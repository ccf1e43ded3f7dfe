"""Scripts run on the queue's server, many askers in one round trip.

A call needs two short steps there, and a client made for every purpose costs more for each than the
rest of the call. Here one connection carries a round of questions at a time: whoever comes while a
round is under way goes along with the next. The connection itself is the client library's own.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import redis.asyncio as redis
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import NoScriptError, RedisError, ResponseError

MOST_IN_A_ROUND = 256
type Words = Sequence[str | int]
type Question = tuple[str, Words, "asyncio.Future[Any]"]


class Scripts:
    """Runs the given Lua scripts over one connection of a pool's making.

    Args:
        wait_s: how long a round may take.
    """

    def __init__(self, pool: redis.ConnectionPool, scripts: Iterable[str], wait_s: float) -> None:
        self._connection: Any = pool.make_connection()  # type: ignore[no-untyped-call]
        self._shas = {each: hashlib.sha1(each.encode()).hexdigest() for each in scripts}
        self._wait_s = wait_s
        self._waiting: list[Question] = []
        self._rounds: asyncio.Task[None] | None = None

    async def run(self, script: str, words: Words) -> Any:
        """What a script returns.

        Raises:
            RedisError: the server does not answer, or not in time, or refuses.
        """
        try:
            return await self._asked(script, words)
        except NoScriptError:  # nothing was run: the server has been emptied of its scripts
            await self._connection.disconnect(nowait=True)
            return await self._asked(script, words)

    async def close(self) -> None:
        """Give the connection back."""
        if self._rounds is not None:
            self._rounds.cancel()
            await asyncio.wait({self._rounds})
        await self._connection.disconnect()

    async def _asked(self, script: str, words: Words) -> Any:
        answer = asyncio.get_running_loop().create_future()
        self._waiting.append((script, words, answer))
        if self._rounds is None:
            self._rounds = asyncio.create_task(self._all())
        return await answer

    async def _all(self) -> None:
        asked: list[Question] = []
        try:
            while self._waiting:
                asked = self._waiting[:MOST_IN_A_ROUND]
                del self._waiting[:MOST_IN_A_ROUND]
                await self._round(asked)
        finally:
            self._rounds = None
            _tell(asked + self._waiting, Unreachable("the gateway ends"))

    async def _round(self, asked: Sequence[Question]) -> None:
        """Ask and answer all of these; what fails, fails for those without an answer yet."""
        try:
            async with asyncio.timeout(self._wait_s):
                await self._connect()
                pack = self._connection.pack_command
                sent = [
                    part
                    for script, words, _ in asked
                    for part in pack("EVALSHA", self._shas[script], 0, *words)
                ]
                await self._connection.send_packed_command(sent, check_health=False)
                for _, _, answer in asked:
                    await self._read(answer)
        except (RedisError, OSError) as error:  # TimeoutError is an OSError
            await self._connection.disconnect(nowait=True)
            failed = error if isinstance(error, RedisError) else Unreachable(str(error))
            _tell(asked, failed)

    async def _connect(self) -> None:
        """See that the connection lives and that the server has the scripts."""
        its = self._connection
        if its.is_connected:
            if not await its.can_read():
                return
            await its.disconnect(nowait=True)  # it was closed while nothing was asked
        await its.connect()
        for script in self._shas:
            await its.send_command("SCRIPT", "LOAD", script)
            await its.read_response()

    async def _read(self, answer: "asyncio.Future[Any]") -> None:
        try:
            told = await self._connection.read_response()
        except ResponseError as error:
            _tell([("", (), answer)], error)
        else:
            if not answer.done():
                answer.set_result(told)


def _tell(asked: Iterable[Question], error: RedisError) -> None:
    for _, _, answer in asked:
        if not answer.done():  # whoever asked may have left
            answer.set_exception(error)
