"""Where pods went, and where they would have gone, over a whole run: host by host."""

from dataclasses import dataclass

import polars as pl

from ..models.egress_seen import EgressSeen

MOST = 100  # of each kind; what few attempts did is in their own records


@dataclass(frozen=True, slots=True)
class Host:
    """One host with its port: of how many `watched` attempts it was reached, or refused.

    `how` is "reached", "failed" (allowed, and not reached), or how it was refused.
    """

    host: str
    how: str
    attempts: int
    infra_errors: int
    watched: int


def hosts(accepted: pl.DataFrame) -> tuple[Host, ...]:
    """Hosts of attempts whose way out was watched over; those of most attempts first."""
    watched = accepted.filter(pl.col("egress_tried").is_not_null())
    rows = (
        watched.select("egress_tried", "verdict")
        .explode("egress_tried")
        .drop_nulls("egress_tried")
        .group_by("egress_tried")
        .agg(pl.len(), (pl.col("verdict") == "infra_error").sum().alias("infra_errors"))
        .sort("len", "egress_tried", descending=[True, False])
        .head(MOST)
    )
    return tuple(
        Host(*_parts(text), count, infra, watched.height) for text, count, infra in rows.iter_rows()
    )


def tried(seen: EgressSeen) -> list[str]:
    """Every host that an attempt tried, each once, as `how: host:port`."""
    found = [
        f"{'reached' if one.connections else 'failed'}: {_place(one.host, one.port)}"
        for one in seen.hosts
    ]
    found += [f"{one.how} refused: {_place(one.to, one.port)}" for one in seen.refused]
    found += [f"name {one.fault}: {one.name}" for one in seen.dns]
    return list(dict.fromkeys(found))


def _place(host: str, port: int | None) -> str:
    return host if port is None else f"{host}:{port}"


def _parts(text: str) -> tuple[str, str]:
    """(host, how) of what an attempt tried, as `tried` writes it."""
    how, _, host = text.partition(": ")
    return host, how
