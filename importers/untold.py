"""What stands for what a source does not tell: a task's files, conditions, clocks."""

from functools import lru_cache
from pathlib import Path

from ..models.conditions import UNRECORDED, Clocks, Conditions
from ..models.task import Task

NO_CLOCKS = Clocks(
    received_at=None,
    prepare_s=None,
    start_s=None,
    setup_s=None,
    agent_s=None,
    verifier_s=None,
    stop_s=None,
    ended_at=None,
)

NO_CONDITIONS = Conditions(
    node=UNRECORDED,
    node_profile=None,
    runtime=UNRECORDED,
    network=UNRECORDED,
    requested=None,
    slots=None,
    hour_utc=None,
    weekday=None,
)


@lru_cache(maxsize=4096)
def named_task(name: str, content_hash: str = "") -> Task:
    """A task of which only its name is known, and at most what its content hashes to."""
    return Task(
        name=name, title=name, directory=Path(), content_hash=content_hash, environment_hash=""
    )
