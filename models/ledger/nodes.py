"""Nodes: the profile a node said of itself, stored once per change, and probes of its speed."""

import time
from collections.abc import Mapping

from sqlalchemy import Engine, select, update
from sqlalchemy.engine import Connection

from ..node import NodeProfile
from ..probe import Probe
from .bulk import insert_if_absent
from .tables import NODE, NODE_PROBE, NODE_PROFILE
from .writing import writing


def write_node(
    engine: Engine, node: str, profile: NodeProfile, *, fence: int | None = None
) -> None:
    """Write down that a node was seen with this profile now.

    Raises:
        Deposed: another scheduler leads now; nothing was written.
    """
    with writing(engine, fence) as connection:
        note_nodes(connection, {node: profile})


def note_nodes(connection: Connection, profiles: Mapping[str, NodeProfile]) -> None:
    """The same of several, by name, in a transaction under way."""
    now = time.time()
    for node, profile in sorted(profiles.items()):  # in one order: no two wait for each other
        hash_ = profile.profile_hash
        new = {"hash": hash_, "first_seen_at": now, "document": profile.model_dump_json()}
        seen = {"profile": hash_, "seen_at": now}
        insert_if_absent(connection, NODE_PROFILE, new)
        if not insert_if_absent(connection, NODE, {"id": node} | seen):
            connection.execute(update(NODE).where(NODE.c.id == node).values(**seen))


def write_probe(engine: Engine, node: str, probe: Probe, *, fence: int | None = None) -> None:
    """Write down a probe of a node that was written down before; once, however often it is told.

    Raises:
        Deposed: another scheduler leads now; nothing was written.
    """
    row = {"node": node, "at": probe.at, "document": probe.model_dump_json()}
    with writing(engine, fence) as connection:
        insert_if_absent(connection, NODE_PROBE, row)


def probes(engine: Engine, node: str) -> tuple[Probe, ...]:
    """Every probe of a node, the oldest first."""
    query = select(NODE_PROBE.c.document).where(NODE_PROBE.c.node == node).order_by(NODE_PROBE.c.at)
    with engine.connect() as connection:
        return tuple(Probe.model_validate_json(text) for text in connection.scalars(query))
