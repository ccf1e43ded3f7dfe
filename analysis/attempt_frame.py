"""Attempts as a table: one row each, every fact of it in a column of its own.

Columns without a record behind them (an attempt under way, or given up) are null.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import batched
from typing import Any, NamedTuple

import polars as pl

from ..models.api_call import ApiUse
from ..models.conditions import Clocks, Usage
from ..models.counters import Counters
from ..models.egress_seen import EgressSeen
from ..models.evidence import PhaseName
from ..models.ledger.reading import AttemptLine
from ..models.limits import Effective, Limits
from ..models.load import Load
from .hosts import tried
from .latency import latency_level

ROWS_AT_ONCE = 5_000
COUNTED = ("steal_s", "busy_s", "swapped_pages", "thermal_throttles", "system_oom_kills")
MEASURED = (
    "co_running_mean",
    "clock_offset_s",
    "clock_error_s",
    "clock_step_s",
    "suspended_s",
)

WENT_OUT: dict[str, Callable[[EgressSeen], int]] = {
    "egress_hosts": lambda seen: seen.contacted,
    "egress_connections": lambda seen: seen.connections,
    "egress_bytes_out": lambda seen: sum(one.bytes_out for one in seen.hosts),
    "egress_bytes_in": lambda seen: sum(one.bytes_in for one in seen.hosts),
    "egress_refused": lambda seen: seen.refusals,
    "egress_dns_failed": lambda seen: seen.dns_failures,
}

type Kind = pl.DataType | type[pl.DataType]
type Reader = Callable[[AttemptLine], Any]


class Column(NamedTuple):
    """A column's name, its type, and how an attempt fills it."""

    name: str
    kind: Kind
    of: Reader


def attempt_frame(lines: Iterable[AttemptLine], factors: Sequence[str] = ()) -> pl.DataFrame:
    """One row per attempt, in the order given.

    Args:
        lines: attempts, as the ledger tells them.
        factors: names of further assigned factors; each becomes a column after `band`.
    """
    columns = (*KEY, *(Column(name, pl.String, _level(name)) for name in factors), *FACTS)
    schema = {column.name: column.kind for column in columns}
    frames = [
        pl.DataFrame({c.name: [c.of(line) for line in some] for c in columns}, schema=schema)
        for some in batched(lines, ROWS_AT_ONCE)
    ]
    return pl.concat(frames) if frames else pl.DataFrame(schema=schema)


def _level(factor: str) -> Reader:
    return lambda line: line.levels.get(factor)


def _in_record(path: str) -> Reader:
    """Follow a dotted path from the record; None as soon as something on the way is None."""
    names = path.split(".")

    def read(line: AttemptLine) -> Any:
        value: Any = line.record
        for name in names:
            if value is None:
                return None
            value = getattr(value, name)
        return value

    return read


def _of_phase(phase: PhaseName, name: str) -> Reader:
    def read(line: AttemptLine) -> Any:
        found = line.record.evidence.phase(phase) if line.record else None
        return None if found is None else getattr(found, name)

    return read


def _api_latency(line: AttemptLine) -> str | None:
    """The attempt's median first byte as a level: powers of two of a second."""
    api = line.record.evidence.api if line.record else None
    return None if api is None else latency_level(api.first_byte_p50_s)


def _network(line: AttemptLine) -> str | None:
    """The network of the pod, and where an allow-list was part of it, that: another list is
    another network."""
    if line.record is None:
        return None
    told = line.record.conditions
    if told.network != "gateway":
        return told.network
    return f"gateway ({', '.join(sorted(told.allow)) or 'and nothing else'})"


def _went_out(of: Callable[[EgressSeen], Any]) -> Reader:
    def read(line: AttemptLine) -> Any:
        seen = line.record.evidence.egress if line.record else None
        return None if seen is None else of(seen)

    return read


def _left_behind(line: AttemptLine) -> int | None:
    if line.record is None:
        return None
    told = [p.left_behind for p in line.record.evidence.phases if p.left_behind is not None]
    return sum(told) if told or not line.record.evidence.phases else None


def _grown(name: str) -> Reader:
    """By how much a count of the node's load grew during an attempt."""
    start, end = (_in_record(f"conditions.load_{when}.{name}") for when in ("start", "end"))

    def read(line: AttemptLine) -> float | None:
        before, after = start(line), end(line)
        return None if before is None or after is None else float(after - before)

    return read


def _own(name: str, kind: Kind, attribute: str = "") -> Column:
    return Column(name, kind, lambda line: getattr(line, attribute or name))


def _told(name: str, kind: Kind, path: str) -> Column:
    return Column(name, kind, _in_record(path))


def _all_of(model: type[Any], prefix: str, path: str, leave: Sequence[str] = ()) -> list[Column]:
    """A column for every field of a value inside the record."""
    return [
        _told(f"{prefix}{name}", _kind(field.annotation), f"{path}.{name}")
        for name, field in model.model_fields.items()
        if name not in leave
    ]


def _kind(annotation: object) -> Kind:
    text = str(annotation)
    kinds = (("bool", pl.Boolean), ("float", pl.Float64), ("int", pl.Int64))
    return next((kind for word, kind in kinds if word in text), pl.String())


KEY = (
    _own("attempt", pl.String, "id"),
    *(_own(name, pl.String) for name in ("trial", "task", "entry", "band")),
)
FACTS = (
    *(_own(name, pl.Int64) for name in ("sample", "wave", "number")),
    _own("node", pl.String),
    _own("accepted", pl.Boolean),
    *(_own(name, pl.String) for name in ("state", "verdict", "cause", "oom")),
    _own("reward", pl.Float64),
    *(_own(name, pl.String) for name in ("rule", "detail", "replay_of", "replay_in")),
    _told("answered", pl.String, "evidence.answered"),
    *(
        Column(f"{phase}_{name}", kind, _of_phase(phase, name))
        for phase in ("setup", "agent", "verifier")
        for name, kind in (
            ("exit_code", pl.Int64),
            ("timed_out", pl.Boolean),
            ("oom_kills", pl.Int64),
        )
    ),
    Column("left_behind", pl.Int64, _left_behind),
    *_all_of(Counters, "", "usage.counters", leave=("source", "storage_exceeded")),
    _told("counters_source", pl.String, "usage.counters.source"),
    *_all_of(Usage, "", "usage", leave=("counters",)),
    *_all_of(Clocks, "", "clocks"),
    _told("node_profile", pl.String, "conditions.node_profile"),
    _told("runtime", pl.String, "conditions.runtime"),
    Column("network", pl.String, _network),
    _told("egress_asked", pl.String, "conditions.egress_asked"),
    *(
        _told(name, pl.Int64, f"conditions.{name}")
        for name in (
            "slots",
            "co_running_start",
            "co_running_peak",
            "co_running_end",
            "hour_utc",
            "weekday",
            "ceilings_peak_bytes",
        )
    ),
    *(_told(name, pl.Float64, f"conditions.{name}") for name in MEASURED),
    *(
        _told(f"api_{name}", _kind(ApiUse.model_fields[name].annotation), f"evidence.api.{name}")
        for name in (
            *("failed", "rate_limited", "server_errors", "cut", "retries"),
            *("first_byte_p50_s", "first_byte_p95_s", "total_p50_s", "total_p95_s"),
        )
    ),
    Column("api_latency", pl.String, _api_latency),
    *(Column(name, pl.Int64, _went_out(of)) for name, of in WENT_OUT.items()),
    Column("egress_tried", pl.List(pl.String), _went_out(tried)),
    _told("agent_timeout_s", pl.Float64, "conditions.agent_timeout_s"),
    _told("timeout_multiple", pl.Float64, "conditions.time_limit"),
    *_all_of(Limits, "requested_", "conditions.requested"),
    *_all_of(Effective, "effective_", "conditions.effective", leave=("enforcement", "differs")),
    _told("enforcement", pl.String, "evidence.enforcement"),
    _told("differs", pl.List(pl.String), "conditions.effective.differs"),
    *_all_of(Load, "start_", "conditions.load_start"),
    *_all_of(Load, "peak_", "conditions.load_peak"),
    *_all_of(Load, "end_", "conditions.load_end"),
    *(Column(f"during_{name}", pl.Float64, _grown(name)) for name in COUNTED),
    _told("probed_at", pl.Float64, "conditions.probe.at"),
    *(
        _told(f"probe_{name}", pl.Float64, f"conditions.probe.{name}.median")
        for name in ("cpu_ops_s", "memory_mb_s", "disk_mb_s")
    ),
    _told("warnings", pl.List(pl.String), "conditions.warnings"),
    _told("image_id", pl.String, "image_id"),
    _told("worker_version", pl.String, "worker_version"),
    *(
        _told(name, pl.String, f"origin.{path}")
        for name, path in (
            ("source_run", "run"),
            ("source_mode", "mode"),
            ("harness", "harness"),
            ("agent_version", "agent_version"),
            ("task_hash", "task_hash"),
        )
    ),
)
