"""Nodes: the profile a node said of itself, stored once per change."""

import time

from sqlalchemy import Engine, insert, select, update

from ..node import NodeProfile
from .rows import NodeProfileRow, NodeRow


def write_node(engine: Engine, node: str, profile: NodeProfile) -> None:
    """Write down that a node was seen with this profile now."""
    seen = {"profile": profile.profile_hash, "seen_at": time.time()}
    with engine.begin() as connection:
        known = connection.scalar(
            select(NodeProfileRow.hash).where(NodeProfileRow.hash == profile.profile_hash)  # type: ignore[arg-type]
        )
        if known is None:
            connection.execute(
                insert(NodeProfileRow),
                {
                    "hash": profile.profile_hash,
                    "first_seen_at": time.time(),
                    "document": profile.model_dump_json(),
                },
            )
        changed = connection.execute(
            update(NodeRow).where(NodeRow.id == node).values(**seen)  # type: ignore[arg-type]
        )
        if not changed.rowcount:
            connection.execute(insert(NodeRow), {"id": node} | seen)
