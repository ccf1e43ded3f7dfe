"""Under which configuration trials ran, item by item, as far as anybody recorded it.

Two scores compare like with like only where every item that can move a score is the same on both
sides. An item that one side does not record may be anything.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import polars as pl

from ..models.band import Band, Share
from ..models.conditions import UNRECORDED
from .read_ledger import Study
from .words import listed, size

type State = Literal["same", "differs", "unrecorded"]
WORSE: tuple[State, ...] = ("same", "unrecorded", "differs")
MOST_VALUES = 6
TIME_LIMIT = "time limit, times the task's own"
AGENT_LIMIT = "agent's time limit"


@dataclass(frozen=True, slots=True)
class Configuration:
    """Item -> the values that occurred, sorted; () where none is recorded. `tasks` holds the
    content hash of each task, "" where its source has none."""

    items: Mapping[str, tuple[str, ...]]
    tasks: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ItemCompared:
    """One item on both sides. `decides`: scores compare like with like only if it is the same."""

    item: str
    a: str
    b: str
    state: State
    decides: bool


def configuration(study: Study, bands: Sequence[str] | None = None) -> Configuration:
    """The configuration of a study's accepted attempts, of some bands or all of them."""
    attempts = study.attempts.filter("accepted")
    if bands is not None:
        attempts = attempts.filter(pl.col("band").is_in(bands))
    ran = [band for band in study.experiment.bands if band.name in set(attempts["band"])]
    items = {name: _values(attempts, column, show) for name, column, show in RECORDED}
    if not study.sources:
        items[TIME_LIMIT] = _own_time_limits(attempts)
        items[AGENT_LIMIT] = _declared_limits(study)
    items["floors and ceilings"] = _bands(ran)
    items["harness"] = _harness(study, attempts)
    items["dates"] = _dates(attempts)
    items["attempts per trial"] = _attempts(study.attempts)
    return Configuration({name: items[name] for name in ITEMS}, _contents(study, attempts))


def compared(a: Configuration, b: Configuration) -> tuple[ItemCompared, ...]:
    """Every item of both sides, and whether it is the same."""
    rows = [
        ItemCompared(name, _shown(mine), _shown(theirs), _state(mine, theirs), decides)
        for name, decides in ITEMS.items()
        for mine, theirs in ((a.items[name], b.items[name]),)
    ]
    return (*rows, _tasks(a.tasks, b.tasks))


def all_compared(every: Sequence[Configuration]) -> tuple[ItemCompared, ...]:
    """The items of the first of several beside those of the one that is least like it.

    Args:
        every: one or more configurations.
    """
    first, *others = every
    rows = [compared(first, other) for other in others or (first,)]
    return tuple(max(item, key=lambda row: WORSE.index(row.state)) for item in zip(*rows))


def is_matched(items: Sequence[ItemCompared]) -> bool:
    """Everything that decides is recorded on both sides, and the same."""
    return all(row.state == "same" for row in items if row.decides)


def match_words(items: Sequence[ItemCompared], *, matched: bool) -> str:
    """Whether two configurations match, and in what they do not, as the end of a sentence.

    Args:
        matched: what is taken for granted of them, by the records or by a user.
    """
    other = [row.item for row in items if row.decides and row.state == "differs"]
    if matched:
        return (
            "match" if not other else f"are taken to match, though they differ in {listed(other)}"
        )
    if other:
        return f"differ in {listed(other)}"
    return "are not known to match"


def _number(value: float) -> str:
    return f"{value:g}"


def _seconds(value: float) -> str:
    return f"{value:g} s"


RECORDED: tuple[tuple[str, str, Callable[..., str]], ...] = (
    ("enforcement", "enforcement", str),
    ("runtime", "runtime", str),
    ("network", "network", str),
    ("OOM scope", "requested_oom_scope", str),
    ("swap beyond the ceiling", "requested_swap_bytes", size),
    ("trials at once", "slots", str),
    ("node profiles", "node_profile", str),
    (TIME_LIMIT, "timeout_multiple", _number),
    (AGENT_LIMIT, "agent_timeout_s", _seconds),
    ("agent version", "agent_version", str),
)
ITEMS: Mapping[str, bool] = {  # in the order of tables; whether each one decides
    "floors and ceilings": True,
    "enforcement": True,
    "OOM scope": True,
    "swap beyond the ceiling": True,
    "runtime": True,
    "network": True,
    "trials at once": True,
    "node profiles": True,
    TIME_LIMIT: True,
    AGENT_LIMIT: False,
    "attempts per trial": True,
    "harness": True,
    "agent version": False,
    "dates": False,
}


def _values(attempts: pl.DataFrame, column: str, show: Callable[..., str]) -> tuple[str, ...]:
    """The values of a column; nothing where any attempt does not tell."""
    told = attempts[column].drop_nulls()
    if told.dtype == pl.String:
        told = told.filter(~told.is_in(["", UNRECORDED]))
    if told.is_empty() or len(told) < attempts.height:
        return ()
    return tuple(sorted({show(value) for value in told.unique()}))


def _own_time_limits(attempts: pl.DataFrame) -> tuple[str, ...]:
    """Our own runs keep each task's clock unless the time limit is a factor of theirs."""
    if "time_limit" not in attempts.columns:
        return ("1",)
    return tuple(sorted(attempts["time_limit"].unique()))


def _declared_limits(study: Study) -> tuple[str, ...]:
    """The tasks' own limits of the agent, shortest to longest."""
    default = study.experiment.run.default_agent_timeout_s
    declared = {task.spec.agent_timeout_s or default for task in study.tasks}
    if not declared:
        return ()
    low, high = min(declared), max(declared)
    return (f"{low:g} s",) if low == high else (f"{low:g} s to {high:g} s",)


def _bands(ran: Sequence[Band]) -> tuple[str, ...]:
    if not ran or not all(band.stated for band in ran):
        return ()
    return tuple(sorted(_band(band) for band in ran))


def _band(band: Band) -> str:
    shares = (("memory", band.memory), ("cpu", band.cpu), ("storage", band.storage))
    return ", ".join(f"{name} {_share(share)}" for name, share in shares)


def _share(share: Share) -> str:
    floor = "none" if share.floor is None else f"{share.floor:g}x"
    top = share.ceiling if share.ceiling == "uncapped" else f"{share.ceiling:g}x"
    return f"{floor} to {top}"


def _harness(study: Study, attempts: pl.DataFrame) -> tuple[str, ...]:
    if study.sources:
        named = attempts["harness"].replace("", None)
        return () if named.null_count() else tuple(sorted(named.unique()))
    versions = sorted(attempts["worker_version"].drop_nulls().unique())
    return tuple(f"infranoise {version}" for version in versions)


def _dates(attempts: pl.DataFrame) -> tuple[str, ...]:
    known = attempts["received_at"].drop_nulls()
    if known.is_empty():
        return ()
    ends = (known.min(), known.max())
    first, last = (datetime.fromtimestamp(float(at), UTC).date().isoformat() for at in ends)  # type: ignore[arg-type]
    return (first,) if first == last else (f"{first} to {last}",)


def _attempts(attempts: pl.DataFrame) -> tuple[str, ...]:
    most = attempts["number"].max()
    return () if most is None else (f"at most {most!s}",)


def _contents(study: Study, attempts: pl.DataFrame) -> dict[str, str]:
    known = {task.name: task.content_hash for task in study.tasks}
    return {task: known.get(task, "") for task in sorted(attempts["task"].unique())}


def _state(a: Sequence[str], b: Sequence[str]) -> State:
    if not a or not b:
        return "unrecorded"
    return "same" if list(a) == list(b) else "differs"


def _shown(values: Sequence[str]) -> str:
    if not values:
        return UNRECORDED
    more = f" and {len(values) - MOST_VALUES} more" if len(values) > MOST_VALUES else ""
    return "; ".join(values[:MOST_VALUES]) + more


def _tasks(a: Mapping[str, str], b: Mapping[str, str]) -> ItemCompared:
    """Whether the tasks that both ran have the same contents."""
    shared = a.keys() & b.keys()
    if not shared:
        alone = "no task in common"
        return ItemCompared("contents of tasks", alone, alone, "differs", True)
    known = [task for task in shared if a[task] and b[task]]
    other = sum(a[task] != b[task] for task in known)
    state: State = "differs" if other else "same" if len(known) == len(shared) else "unrecorded"
    told = f"{len(known)} of {len(shared)} shared tasks recorded"
    detail = f", {other} with other contents" if other else ""
    return ItemCompared("contents of tasks", told, f"{told}{detail}", state, True)
