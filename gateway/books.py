"""What attempts may take and have taken, in the queue's server: the only state of the gateway.

Several gateways may serve one fleet: none holds anything of an attempt but the calls under way.
"""

from collections.abc import Iterable, Sequence

import redis.asyncio as redis
from redis.exceptions import RedisError

from ..models.api_call import ApiCall
from ..models.api_token import Claims
from ..models.lease import api_scripts, keys
from .refusal import Refusal
from .scripts import Scripts

CONNECTIONS = 8
WAIT_S = 10.0
MICRO = 1_000_000
SCRIPTS = (api_scripts.ADMIT, api_scripts.SETTLE, api_scripts.ALIVE)


class Books:
    """One gateway's way to the queue's server."""

    def __init__(self, address: str) -> None:
        pool = redis.BlockingConnectionPool.from_url(
            address,
            max_connections=CONNECTIONS,
            timeout=WAIT_S,
            socket_timeout=WAIT_S,
            socket_connect_timeout=5,
            decode_responses=True,
        )
        self._redis = redis.Redis.from_pool(pool)
        quiet = redis.ConnectionPool.from_url(
            address, socket_timeout=None, socket_connect_timeout=5, decode_responses=True
        )
        self._scripts = Scripts(quiet, SCRIPTS, WAIT_S)

    async def check(self) -> None:
        """See that the server answers.

        Raises:
            RedisError
        """
        await self._redis.ping()

    async def admit(self, claims: Claims) -> None:
        """Count one more call of an attempt.

        Raises:
            Refusal: the lease is not the token's any more, or the allowance is used up.
        """
        most = claims.allowance
        words = (
            *(claims.attempt, claims.fence),
            *(most.calls or 0, most.tokens or 0, round((most.usd or 0) * MICRO)),
        )
        try:
            why = str(await self._scripts.run(api_scripts.ADMIT, words))
        except RedisError as error:
            raise Refusal("books") from error
        if why:
            raise Refusal(why)

    async def settle(self, claims: Claims, call: ApiCall) -> None:
        """Write down a call that has ended.

        Raises:
            RedisError: the server does not answer.
        """
        micros = 0
        if claims.price is not None:
            micros = round(call.charged.cost_usd(claims.price) * MICRO)
        words = (claims.attempt, claims.fence, call.charged.total, micros, call.model_dump_json())
        await self._scripts.run(api_scripts.SETTLE, words)

    async def calls(self, claims: Claims) -> tuple[list[ApiCall], dict[str, int]]:
        """The calls of an attempt that have ended, and what was refused it, by reason.

        Raises:
            Refusal: the server does not answer.
        """
        try:
            texts = await self._redis.lrange(keys.calls_key(claims.attempt, claims.fence), 0, -1)
            told = await self._redis.hgetall(keys.spent_key(claims.attempt, claims.fence))
        except RedisError as error:
            raise Refusal("books") from error
        spent = {str(name): int(count) for name, count in told.items()}
        refused = {
            name.partition(":")[2]: count
            for name, count in spent.items()
            if name.startswith("refused:")
        }
        return [ApiCall.model_validate_json(text) for text in texts], refused

    async def ended(self, leases: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """Those (attempt, fence) that hold no lease any more.

        Raises:
            RedisError: the server does not answer.
        """
        asked: Sequence[tuple[str, int]] = sorted(set(leases))
        if not asked:
            return set()
        alive = await self._scripts.run(
            api_scripts.ALIVE, [word for pair in asked for word in pair]
        )
        return {pair for pair, lives in zip(asked, alive) if not lives}

    async def close(self) -> None:
        """Give the connections back."""
        await self._scripts.close()
        await self._redis.aclose()
        await self._redis.connection_pool.disconnect()
