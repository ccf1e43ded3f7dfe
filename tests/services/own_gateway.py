"""A gateway in this process, on a loop in a thread of its own, and leases for it to ask after."""

import asyncio
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import redis

from infranoise.gateway.serve import Duty, Place, gateway
from infranoise.gateway.upstream import upstreams
from infranoise.models.api_call import ApiCall
from infranoise.models.api_token import Claims, Seal
from infranoise.models.lease import keys
from infranoise.models.provider import Provider

SECRET = "a secret of these tests alone"


@dataclass(slots=True)
class OwnGateway:
    """A gateway that runs, and the queue server behind it."""

    url: str
    seal: Seal
    client: "redis.Redis"

    def lease(self, attempt: str, fence: int = 1, *, started: bool = True) -> None:
        """Let an attempt hold a lease."""
        values = {"node": "n", "fence": fence, "started": int(started)}
        self.client.hset(keys.lease_key(attempt), mapping=values)

    def end(self, attempt: str) -> None:
        """End an attempt's lease."""
        self.client.delete(keys.lease_key(attempt))

    def token(self, attempt: str = "t.1", fence: int = 1, **more: object) -> str:
        """A token for an attempt, which is given its lease."""
        if not self.client.exists(keys.lease_key(attempt)):
            self.lease(attempt, fence)
        return self.seal.mint(claims(attempt, fence, **more))

    def calls(self) -> list[ApiCall]:
        """Every call that is on its way home."""
        found = self.client.xrange(keys.CALLS)
        return [ApiCall.model_validate_json(fields["call"]) for _, fields in found]


def claims(attempt: str = "t.1", fence: int = 1, **more: object) -> Claims:
    """Claims of an attempt; Anthropic's dialect unless told otherwise."""
    values: dict[str, object] = {
        "experiment": "e",
        "attempt": attempt,
        "fence": fence,
        "provider": "maker",
        "dialect": "anthropic",
        "model": "m",
        "upstream": "m-2026",
        "expires_at": time.time() + 600,
    }
    return Claims.model_validate(values | more)


@contextmanager
def own_gateway(
    broker: str, providers: Mapping[str, Provider], environ: Mapping[str, str]
) -> Iterator[OwnGateway]:
    """A gateway on a free loopback port while inside.

    Args:
        environ: where the keys of the providers stand.
    """
    loop, up = asyncio.new_event_loop(), threading.Event()
    seal, port = Seal(SECRET), 0
    duty = Duty(Place(), seal, broker, upstreams(providers, environ))
    over = asyncio.Event()

    async def live() -> None:
        nonlocal port
        async with gateway(duty) as port:
            up.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(live(),), daemon=True)
    thread.start()
    if not up.wait(20):
        raise RuntimeError("the gateway did not come up")
    with redis.Redis.from_url(broker, decode_responses=True) as client:
        try:
            yield OwnGateway(f"http://127.0.0.1:{port}", seal, client)
        finally:
            loop.call_soon_threadsafe(over.set)
            thread.join()
            loop.close()
