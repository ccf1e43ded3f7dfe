"""What became of a container that does not answer."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import docker
from docker.errors import NotFound

from ....models.errors import PodError, PodLost
from .engine import ENGINE_ERRORS

NS_PER_S = 1_000_000_000
TOLD_AGAIN_S = 0.25  # a kill is told of up to 20 times, a few milliseconds apart
BEING_REMOVED = ("removing", "dead")  # the engine's words for a state


def lost(connect: Callable[[], docker.APIClient], container: str, symptom: str) -> PodLost:
    """The error for work in a container that broke off, with its cause as facts.

    Args:
        connect: gives a client; called again because the way to the engine may be what broke.
        symptom: how it showed.
    """
    try:
        state = connect().inspect_container(container)["State"]
    except NotFound:
        return PodLost(f"the container was removed: {symptom}", reason="removed", oom_killed=None)
    except (*ENGINE_ERRORS, PodError) as error:
        return PodLost(
            f"the Docker engine does not answer: {symptom}; then: {error}",
            reason="engine",
            oom_killed=None,
        )
    return from_state(state, symptom)


def from_state(state: Mapping[str, Any], symptom: str) -> PodLost:
    """The error for an inspected container's state. Pure."""
    facts = {"oom_killed": bool(state["OOMKilled"]), "exit_code": state["ExitCode"]}
    if state["Running"]:
        return PodLost(
            f"the container runs, but the call to it broke off: {symptom}", reason="engine", **facts
        )
    if state.get("Status") in BEING_REMOVED:
        return PodLost(f"the container is being removed: {symptom}", reason="removed", **facts)
    if state["OOMKilled"]:
        return PodLost(
            f"the container ended, and the kernel had killed in it for memory: {symptom}",
            reason="oom_killed",
            **facts,
        )
    return PodLost(
        f"the container ended with exit code {state['ExitCode']}: {symptom}",
        reason="exited",
        **facts,
    )


class Event(NamedTuple):
    """One thing that the engine remembers of a container; when, in Unix seconds by its clock."""

    action: str
    at: float


class Kills(NamedTuple):
    """OOM kills as counted in the container's control group; None where it cannot be read."""

    before: int | None
    after: int | None


def events(client: docker.APIClient, container: str, state: Mapping[str, Any]) -> list[Event]:
    """What the engine remembers of a container's present life, oldest first.

    The engine keeps its last 256 events of all containers: without a `start` at the head, the
    list is not complete.

    Args:
        state: the container's inspected state.
    """
    happened = client.events(  # type: ignore[call-overload]  # it takes parts of a second, too
        since=f"{_unix(state['StartedAt']):.6f}",
        until=f"{now(client):.6f}",
        filters={"container": container, "event": ["start", "oom", "kill", "stop"]},
        decode=True,
    )
    return [Event(str(event["Action"]), event["timeNano"] / NS_PER_S) for event in happened]


def self_inflicted(
    state: Mapping[str, Any], happened: Sequence[Event], kills: Kills, since: float
) -> bool:
    """Whether a container that ended was ended by its last command. Pure.

    Not if the engine was told to end it, nor if the kernel killed for memory while that command
    ran: by the engine's events, by the count, or, where nothing was killed before, by the state
    (its flag stays up after the first kill and tells nothing of a second). The engine tells of one
    kill many times and late: where a kill was counted before, events that follow it closely are no
    new one. The engine remembers 256 events; what it has forgotten is taken for a command's own
    doing, which is by far the more common.

    Args:
        state: the container's inspected state.
        happened: as `events` gives it.
        kills: counted when the command began, and last.
        since: when the command began, Unix seconds by the engine's clock.
    """
    told = any(event.action in ("kill", "stop") and event.at >= since for event in happened)
    ooms = [event.at for event in happened if event.action == "oom"]
    counted = (kills.after or 0) > (kills.before or 0)
    flagged = bool(state["OOMKilled"]) and not kills.before
    return not (
        told or _tells_of_another(ooms, since, late=bool(kills.before)) or counted or flagged
    )


def _tells_of_another(ooms: Sequence[float], since: float, *, late: bool) -> bool:
    """Whether the engine's words of want, oldest first, tell of a kill after a moment.

    Args:
        late: there was a kill before it, of which the last words may come after it.
    """
    for at in (at for at in ooms if at >= since):
        if not late or at - since > TOLD_AGAIN_S:
            return True
        since = at
    return False


def now(client: docker.APIClient) -> float:
    """The engine's clock, Unix seconds."""
    return _unix(client.info()["SystemTime"])


def _unix(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
