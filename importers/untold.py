"""What stands for what a source does not tell: a task's files, conditions, clocks."""

from functools import lru_cache
from pathlib import Path

from ..models.conditions import UNRECORDED
from ..models.foreign import told_clocks, told_conditions, told_usage
from ..models.task import Task

NO_CLOCKS = told_clocks(
    received_at=None,
    prepare_s=None,
    start_s=None,
    setup_s=None,
    agent_s=None,
    verifier_s=None,
    stop_s=None,
    ended_at=None,
)

NO_CONDITIONS = told_conditions(
    node=UNRECORDED,
    node_profile=None,
    runtime=UNRECORDED,
    network=UNRECORDED,
    requested=None,
    slots=None,
    hour_utc=None,
    weekday=None,
)

NO_USAGE = told_usage()


@lru_cache(maxsize=4096)
def named_task(name: str, content_hash: str = "") -> Task:
    """A task of which only its name is known, and at most what its content hashes to."""
    return Task(
        name=name, title=name, directory=Path(), content_hash=content_hash, environment_hash=""
    )
