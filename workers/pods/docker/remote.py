"""A container on another machine, over the engine's API alone."""

import time
from collections.abc import Sequence

import docker
from docker.errors import APIError

from ....models.counters import Counters
from . import counters as docker_counters
from . import loss as docker_loss

APPEARS_PAUSE_S = 0.02


def wait_for(
    client: docker.APIClient, container: str, program: Sequence[str], deadline: float
) -> bool:
    """Wait until a process of the container runs `program`; False if that will not be.

    The engine says that a container has started when its first process still has to become what
    was asked for; a command that is sent in between fails.

    Args:
        deadline: on the monotonic clock.
    """
    words = " ".join(program)
    while time.monotonic() < deadline:
        try:
            rows = (client.top(container, ps_args="-eo pid,args") or {}).get("Processes") or ()
        except APIError:
            if not client.inspect_container(container)["State"]["Running"]:
                return False
            rows = ()
        if any(row[-1] == words for row in rows):
            return True
        time.sleep(APPEARS_PAUSE_S)
    return False


def counters(client: docker.APIClient, container: str) -> Counters:
    """Ask the engine for what it tells of a container.

    Raises:
        ENGINE_ERRORS: it does not answer.
    """
    state = client.inspect_container(container)["State"]
    # Of a running container the flag may be its former life's.
    fell = bool(state["OOMKilled"]) and not state["Running"]
    happened = [event.action for event in docker_loss.events(client, container, state)]
    sizes = client.containers(all=True, size=True, filters={"id": container})
    return docker_counters.from_stats(
        client.stats(container, stream=False, one_shot=True),
        oom_kills=docker_counters.counted_kills(happened, fell),
        storage_bytes=sizes[0].get("SizeRw") if sizes else None,
    )
