"""A run of Terminal-Bench: whose it is, and what was set for the whole of it."""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ..models.conditions import UNRECORDED
from ..models.entry import Entry
from ..models.waves import Levels
from .fields import count, items, word
from .json_bounded import Object
from .labels import short

METADATA = "run_metadata.json"
DATASET = re.compile(r"(?P<name>.+?)(@|:|==)(?P<version>[^@:=]+)\Z")


@dataclass(frozen=True, slots=True)
class Run:
    """One run. `planned` trials by its metadata, None where there are none."""

    name: str
    entry: Entry
    harness: str
    n_concurrent: int | None
    planned: int | None

    @property
    def levels(self) -> Levels:
        """The assigned factors that are told."""
        return () if self.n_concurrent is None else (("concurrency", str(self.n_concurrent)),)


def run_of(folder: Path, metadata: Object, chosen: str | None) -> Run:
    """The run in a folder, by its metadata ({} where it has none) and its place in the tree."""
    where = folder.resolve()
    name = word(metadata.get("run_id")) or where.name
    commit = word(metadata.get("commit_hash"))
    known = commit not in ("", "unknown")
    return Run(
        name=short(f"{name} {word(metadata.get('uuid'))[:8]}".strip()),
        entry=_entry(where, metadata, chosen),
        harness=f"Terminal-Bench at {commit[:12]}" if known else "Terminal-Bench, version unknown",
        n_concurrent=count(metadata.get("n_concurrent_trials")),
        planned=_planned(folder, metadata),
    )


def _entry(where: Path, metadata: Object, chosen: str | None) -> Entry:
    agent, model = word(metadata.get("agent_name")), word(metadata.get("model_name"))
    submitted = _submitted_as(where)
    own = "/".join(filter(None, (agent, model))) if model else ""
    name = chosen or submitted or own or where.parent.name or where.name
    return Entry(
        agent=f"terminal-bench:{agent or UNRECORDED}", model=model or UNRECORDED, name=short(name)
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
