"""What a machine can enforce, what that means for a run, and how to mend it.

Findings are pure functions of a `Survey`; `checks` looks and finds.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from .doctor_check import Check
from .doctor_limits import (
    cpu_ceiling,
    docker_engine,
    memory_ceiling,
    namespaces,
    pids_ceiling,
    swap,
)
from .doctor_surroundings import (
    clock,
    cores,
    disk,
    egress,
    free_memory,
    other_load,
    outlets,
    pressure,
    python,
    queue_server,
    reach_of,
)
from .survey import DockerSeen, Survey, docker_seen, look

FINDINGS: tuple[Callable[[Survey], Check], ...] = (
    memory_ceiling,
    swap,
    cpu_ceiling,
    pids_ceiling,
    namespaces,
    docker_engine,
    egress,
    outlets,
    reach_of,
    pressure,
    clock,
    disk,
    free_memory,
    cores,
    other_load,
    python,
    queue_server,
)


def checks(state: Path, reach: Sequence[str] = ()) -> tuple[Check, ...]:
    """Survey this machine and judge it; `state` is the folder that pods will keep files in, and
    `reach` names hosts (`host:port`) that it should reach."""
    return findings(look(state, reach))


def findings(survey: Survey) -> tuple[Check, ...]:
    """One check per subject, in the order of what matters most for a run."""
    return tuple(find(survey) for find in FINDINGS)


def enforces(found: tuple[Check, ...]) -> bool:
    """Whether anything here can enforce a memory ceiling: nothing failed outright."""
    return all(check.status != "fail" for check in found)


def docker_answers() -> bool:
    """Whether a Docker engine answers here that can enforce a memory ceiling."""
    engine = docker_seen()
    return isinstance(engine, DockerSeen) and engine.memory_limit
