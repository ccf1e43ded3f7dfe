"""Links that break or fall silent; messages that are lost, come twice, or come again."""

import time
from random import Random

import redis

from infranoise.models.message import node_queue

from .aim import LONGER_THAN_A_LEASE_S, Missed, nodes, queues
from .stage import Stage


def reset_links(stage: Stage, random: Random) -> str:
    links = [part.link for part in stage.parts.values() if part.link is not None]
    return f"{sum(link.reset() for link in links)} connections"


def hold_link(stage: Stage, random: Random) -> str:
    """One process hears nothing and is not heard, and nobody tells it so."""
    part = random.choice(list(stage.parts.values()))
    for_s = random.choice((2.0, LONGER_THAN_A_LEASE_S + 2))
    if part.link is None:
        raise Missed(f"{part.name} has no link of its own")
    part.link.hold()
    try:
        time.sleep(for_s)
    finally:
        part.link.flow()
    return f"{part.name} for {for_s:g} s"


def _take_messages(stage: Stage, client: "redis.Redis", within_s: float) -> tuple[str, list[str]]:
    """Messages taken from nodes' queues before their workers had them."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        got = client.brpop(queues(stage), timeout=1)
        if got:
            return str(got[0]), [str(got[1])]
    raise Missed("no message came by")


def drop_message(stage: Stage, random: Random) -> str:
    with stage.valkey.client() as client:
        queue, messages = _take_messages(stage, client, 10)
    return f"{len(messages)} of {queue}"


def double_message(stage: Stage, random: Random) -> str:
    with stage.valkey.client() as client:
        queue, messages = _take_messages(stage, client, 10)
        client.rpush(queue, *messages, *messages)
    return f"{len(messages)} of {queue}"


def replay_message(stage: Stage, random: Random) -> str:
    """A message comes again, on its own queue and on another's, long after it was first sent."""
    with stage.valkey.client() as client:
        queue, messages = _take_messages(stage, client, 10)
        client.rpush(queue, *messages)
        time.sleep(random.uniform(4, 10))
        client.rpush(queue, *messages)
        client.rpush(node_queue(random.choice(nodes(stage))), *messages)
    return f"{len(messages)} of {queue}"
