"""`trial show`: one trial with every attempt: evidence, conditions, clocks, calls, log tails."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from sqlalchemy import Engine

from ..models.api_call import ApiCall
from ..models.egress_seen import EgressSeen
from ..models.errors import DesignError
from ..models.ledger.api_calls import api_calls
from ..models.ledger.finding import Found, find_trials
from ..models.ledger.reading import AttemptLine, attempts
from ..models.message import AttemptRecord
from ..models.spec import MIB
from ..models.validity import WARNINGS
from ..models.value import Value
from .fleet_view import open_ledger
from .trial_calls import calls_json, calls_shown

PARTS = ("requested", "effective", "load_start", "load_peak", "load_end", "probe")
STYLE = {"passed": "green", "failed": "yellow", "infra_error": "red"}


def show(
    store: str,
    text: str,
    flower: str | None,
    *,
    experiment: str | None,
    tail: int,
    as_json: bool,
) -> int:
    """Print a trial and its attempts; returns the exit code.

    Args:
        text: its id, an attempt's id, or the begin of either or of its key.
        tail: lines of each log that are shown.
    Raises:
        DesignError: no trial is meant, or several are; names them.
    """
    engine = open_ledger(store)
    trial = the_trial(engine, text, experiment)
    lines = tuple(attempts(engine, trial.experiment, trial=trial.id))
    calls = {line.id: list(api_calls(engine, trial.experiment, attempt=line.id)) for line in lines}
    if as_json:
        print(json.dumps(trial_json(trial, lines, calls)))
        return 0
    console = Console()
    console.print(Text(f"{trial.key.text}\ntrial {trial.id} of {trial.experiment}", style="bold"))
    if not lines:
        console.print("no attempt was placed yet")
    for line in lines:
        console.print(Group(*_attempt(line, calls[line.id], tail, flower)))
    return 0


def the_trial(engine: Engine, text: str, experiment: str | None = None) -> Found:
    """The one trial that a text means.

    Raises:
        DesignError: there is none, or there are several; names them.
    """
    found = find_trials(engine, text, experiment=experiment)
    if not found:
        raise DesignError(
            f"{text!r} is no trial of this store: give its id, an attempt's id, or the begin of "
            "its key, such as 'headroom/mosaic|lean|1x'"
        )
    exact = [one for one in found if text in (one.id, one.key.text)]
    if len(found) > 1 and len(exact) != 1:
        shown = "\n  ".join(f"{one.id}  {one.key.text}  ({one.experiment})" for one in found)
        raise DesignError(f"{text!r} means several trials; name one:\n  {shown}")
    return (exact or found)[0]


def trial_json(
    trial: Found, lines: tuple[AttemptLine, ...], calls: Mapping[str, Sequence[ApiCall]]
) -> dict[str, object]:
    """A trial and its attempts as a document, each with its calls."""
    return {
        "id": trial.id,
        "experiment": trial.experiment,
        "key": trial.key.text,
        "wave": trial.wave,
        "accepted": trial.accepted,
        "attempts": [attempt_json(line) | {"api": calls_json(calls[line.id])} for line in lines],
    }


def attempt_json(line: AttemptLine) -> dict[str, object]:
    """An attempt as a document, its whole record in it."""
    record = line.record.model_dump(mode="json") if line.record else None
    return asdict(line) | {"record": record}


def _attempt(
    line: AttemptLine, calls: Sequence[ApiCall], tail: int, flower: str | None
) -> Iterator[RenderableType]:
    counts = ", its outcome counts" if line.accepted else ""
    if line.replay_in is not None:
        counts = f", a kill replay at {line.replay_in}"
    verdict = " / ".join(word for word in (line.verdict, line.cause) if word) or "under way"
    yield Text(
        f"\nattempt {line.number} on {line.node}: {verdict}{counts}",
        STYLE.get(line.verdict or "", ""),
    )
    yield _facts({"id": line.id, "rule": line.rule, "why": line.detail, "reward": line.reward})
    if flower:
        yield Text(f"  {flower.rstrip('/')}/task/{line.id}")
    yield from calls_shown(calls)
    if line.record is None:
        said = "it has not ended" if line.verdict is None else "no record came home"
        yield Text(f"  {said}", style="dim")
        return
    yield from _record(line.record, tail)


def _record(record: AttemptRecord, tail: int) -> Iterator[RenderableType]:
    evidence, conditions = record.evidence, record.conditions
    if evidence.phases:
        yield _phases(record)
    yield from _section("evidence", evidence, {"phases", "egress"})
    yield from _way_out(evidence.egress)
    yield from _section("conditions", conditions, {*PARTS, "warnings"})
    yield from _warnings(conditions.warnings or ())
    for name in PARTS:
        yield from _section(name.replace("_", " at "), getattr(conditions, name))
    yield from _section("clocks", record.clocks)
    yield from _section("usage", record.usage, {"counters"})
    yield from _section("counters", record.usage.counters)
    for name, stream in (("agent", record.logs.agent), ("verifier", record.logs.verifier)):
        if stream.tail and tail:
            last = "\n".join(stream.tail.rstrip("\n").splitlines()[-tail:])
            yield Text(f"  {name}, last lines of {stream.total_bytes} bytes:", style="bold")
            yield Padding(Text(last), (0, 0, 0, 4))


def _spread(rates: Mapping[str, float]) -> str:
    """A spread as words, its median first."""
    if rates.keys() != {"low", "median", "high"}:
        return str(dict(rates))
    return f"{rates['median']:.4g} ({rates['low']:.4g} to {rates['high']:.4g})"


def _warnings(words: Sequence[str]) -> Iterator[RenderableType]:
    if words:
        yield Text("  validity warnings", style="bold yellow")
        yield _facts({word: WARNINGS[word][0] if word in WARNINGS else "" for word in words})


def _phases(record: AttemptRecord) -> RenderableType:
    table = Table(box=None, pad_edge=False)
    for name in ("phase", "exit", "seconds", "timed out", "OOM kills", "left behind", "lost"):
        table.add_column(name)
    for phase in record.evidence.phases:
        cells = (phase.exit_code, f"{phase.wall_s:.2f}" if phase.wall_s is not None else None)
        more = (phase.timed_out or "", phase.oom_kills, phase.left_behind, phase.lost)
        words = ("?" if cell is None else str(cell) for cell in (*cells, *more))
        table.add_row(Text(phase.name), *map(Text, words))
    return Padding(table, (0, 0, 0, 2))


def _way_out(seen: EgressSeen | None) -> Iterator[RenderableType]:
    if seen is None:
        return
    yield Text("  way out", style="bold")
    yield _facts({**seen.probe, "lost": seen.lost})
    if seen.hosts:
        columns = ("host", "port", "connections", "bytes out", "bytes in", "failed", "why")
        yield _table(columns, (tuple(host.model_dump(exclude={"cut_off"}).values())
                               for host in seen.hosts))  # fmt: skip
    refused: list[Sequence[object]] = [
        (one.to, one.port, one.how, one.count) for one in seen.refused
    ]
    refused += [(one.name, None, f"name: {one.fault}", one.count) for one in seen.dns]
    if refused:
        yield _table(("not reached", "port", "how", "times"), refused)
    for name, count in (("connections", seen.more_connections), ("refusals", seen.more_refused),
                        ("names", seen.more_dns)):  # fmt: skip
        if count:
            yield Text(f"    and {count} more {name}", style="dim")


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> RenderableType:
    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name)
    for row in rows:
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    return Padding(table, (0, 0, 0, 4))


def _section(
    name: str, value: Value | None, without: set[str] | None = None
) -> Iterator[RenderableType]:
    told = value.model_dump(exclude=without or set()) if value is not None else {}
    told = {key: _spread(v) if isinstance(v, dict) and v else v for key, v in told.items()}
    known = {key: v for key, v in told.items() if v not in (None, "", (), {}, [])}
    if known:
        yield Text(f"  {name}", style="bold")
        yield _facts(known)


def _facts(facts: Mapping[str, object]) -> RenderableType:
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in facts.items():
        if value not in (None, ""):
            table.add_row(Text(name), Text(_words(name, value)))
    return Padding(table, (0, 0, 0, 4))


def _words(name: str, value: object) -> str:
    if isinstance(value, float) and name.endswith("_at"):
        return datetime.fromtimestamp(value, UTC).isoformat(sep=" ", timespec="milliseconds")
    if isinstance(value, int) and name.endswith("_bytes"):
        return f"{value:,} ({value / MIB:,.1f} MiB)" if value >= MIB else f"{value:,}"
    if isinstance(value, tuple) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
