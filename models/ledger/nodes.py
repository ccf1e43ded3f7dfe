"""Nodes: the profile a node said of itself, stored once per change."""

import time

from sqlalchemy import Engine, insert, select, update

from ..node import NodeProfile
from .tables import NODE, NODE_PROFILE


def write_node(engine: Engine, node: str, profile: NodeProfile) -> None:
    """Write down that a node was seen with this profile now."""
    seen = {"profile": profile.profile_hash, "seen_at": time.time()}
    with engine.begin() as connection:
        known = connection.scalar(
            select(NODE_PROFILE.c.hash).where(NODE_PROFILE.c.hash == profile.profile_hash)
        )
        if known is None:
            connection.execute(
                insert(NODE_PROFILE),
                {
                    "hash": profile.profile_hash,
                    "first_seen_at": time.time(),
                    "document": profile.model_dump_json(),
                },
            )
        changed = connection.execute(update(NODE).where(NODE.c.id == node).values(**seen))
        if not changed.rowcount:
            connection.execute(insert(NODE), {"id": node} | seen)
