"""Counters of a container on another machine, over the engine's API alone."""

import docker

from ...models.counters import Counters
from . import docker_counters, docker_loss


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
