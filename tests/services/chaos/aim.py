"""What a fault may aim at."""

from random import Random

from infranoise.models.message import node_queue

from .stage import Part, Stage

LONGER_THAN_A_LEASE_S = 8.0


class Missed(Exception):
    """There was nothing to break."""


def running(stage: Stage, word: str, random: Random) -> Part:
    found = [part for part in stage.parts.values() if part.words[0] == word and part.alive]
    if not found:
        raise Missed(f"no {word} is alive")
    return random.choice(found)


def leader(stage: Stage) -> Part:
    name = stage.leader()
    if not name:
        raise Missed("nobody leads")
    return stage.parts[name]


def nodes(stage: Stage) -> list[str]:
    """The nodes of the fleet."""
    return [name for name, part in stage.parts.items() if part.words[0] == "worker"]


def queues(stage: Stage) -> list[str]:
    """Their queues."""
    return [node_queue(node) for node in nodes(stage)]
