"""A run of Terminal-Bench: whose it is, and what was set for the whole of it."""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from ..models.conditions import UNRECORDED
from ..models.entry import Entry
from ..models.foreign import Facts
from ..models.waves import Levels
from .fields import count, items, number, part, word
from .json_bounded import Object
from .labels import short
from .settings import settings
from .untold import NO_CONDITIONS

METADATA, LOCK = "run_metadata.json", "tb.lock"
UNKNOWN = ", version unknown"
DATASET = re.compile(r"(?P<name>.+?)(@|:|==)(?P<version>[^@:=]+)\Z")


@dataclass(frozen=True)
class Run:
    """One run. `planned` trials by its metadata, None where there are none; `time_limit` is the
    multiple of each task's own, `agent_timeout_s` what was set for all of them instead; `resumed`:
    it went on after a stop, so that trials may have taken the place of others."""

    name: str
    entry: Entry
    harness: str
    n_concurrent: int | None
    planned: int | None
    time_limit: float | None = None
    agent_timeout_s: float | None = None
    resumed: bool = False

    @cached_property
    def conditions(self) -> Facts:
        """What surrounded all of its trials."""
        return {
            **NO_CONDITIONS,
            "slots": self.n_concurrent,
            "time_limit": self.time_limit,
            "agent_timeout_s": self.agent_timeout_s,
        }

    @property
    def levels(self) -> Levels:
        """The assigned factors that are told."""
        return () if self.n_concurrent is None else (("concurrency", str(self.n_concurrent)),)


def run_of(folder: Path, where: Path, metadata: Object, lock: Object, chosen: str | None) -> Run:
    """The run in a folder, by its metadata and its lock ({} where it has none) and its place in the
    tree, which `where` names without links.

    Raises:
        SourceFault: a field holds what it cannot hold.
    """
    name = word(metadata.get("run_id")) or where.name
    set_for_all = part(folder / LOCK, "run_config", lock.get("run_config"))
    return Run(
        name=short(f"{name} {word(metadata.get('uuid'))[:8]}".strip()),
        entry=_entry(where, metadata, chosen),
        harness=_harness(folder, metadata, lock),
        n_concurrent=count(metadata.get("n_concurrent_trials")),
        planned=_planned(folder, metadata),
        time_limit=number(set_for_all.get("global_timeout_multiplier")),
        agent_timeout_s=number(set_for_all.get("global_agent_timeout_sec")),
        resumed=bool(metadata.get("resumed_at")),
    )


def _harness(folder: Path, metadata: Object, lock: Object) -> str:
    """The harness with its version, and that of the tasks. A commit counts where it ran from its
    source: elsewhere it is the commit of whatever lay in the folder."""
    told = part(folder / LOCK, "harness", lock.get("harness"))
    version, commit = word(told.get("version")), word(metadata.get("commit_hash"))
    known = commit not in ("", "unknown") and (not version or told.get("is_editable_installation"))
    words = ["Terminal-Bench", version, f"at {commit[:12]}" if known else ""]
    dataset = [word(metadata.get(f"dataset_{key}")) for key in ("name", "version")]
    tasks = f", {' '.join(dataset)}" if all(dataset) else ""
    return short(" ".join(filter(None, words)) + (tasks or ("" if version or known else UNKNOWN)))


def _entry(where: Path, metadata: Object, chosen: str | None) -> Entry:
    agent, model = word(metadata.get("agent_name")), word(metadata.get("model_name"))
    submitted = _submitted_as(where)
    own = "/".join(filter(None, (agent, model))) if model else ""
    name = chosen or submitted or own or where.parent.name or where.name
    return Entry(
        agent=f"terminal-bench:{agent or UNRECORDED}",
        model=model or UNRECORDED,
        name=short(name),
        options=settings(where / METADATA, "agent_kwargs", metadata.get("agent_kwargs")),
    )


def _submitted_as(where: Path) -> str:
    """The folder below the dataset's: the name under which a leaderboard lists the entry."""
    parts = where.parts
    for dataset, entry in pairwise(parts):
        if DATASET.match(dataset):
            return entry
    return ""


def _planned(folder: Path, metadata: Object) -> int | None:
    tasks = len(items(folder / METADATA, "task_ids", metadata.get("task_ids")))
    attempts = count(metadata.get("n_attempts"))
    return tasks * attempts if tasks and attempts else None
