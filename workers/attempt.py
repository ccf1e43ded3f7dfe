"""One attempt: pod up, agent in, everything it left running stopped, verifier in, evidence out.

This is the shell round the pods: it decides nothing about the outcome. Whatever happens, a record
comes out.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..models.errors import DesignError, InfranoiseError, PodError
from ..models.evidence import Fault
from ..models.message import AttemptMessage, AttemptRecord
from .api_use import api_use
from .artefacts import Artefacts
from .bearings import Bearings
from .bundles import Bundles
from .clock_offset import Instant
from .harness.agent import Agent, Assignment, Recorder, Tried, inside
from .harness.choose import choose
from .harness.verifier import verify
from .outlet.places import in_pod
from .pods.pod import WATCHED, Pod, PodOrder, Pods, Watched, Witnessed
from .record import Surroundings, told
from .slots import Slots
from .story import Story

SLACK_S = 120.0  # how far past its deadline a pod may live before anyone may reap it
FOLDERS_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Node:
    """What an attempt needs to know of the node that it runs on."""

    id: str
    bearings: Bearings
    slots: Slots
    environ: Mapping[str, str] = field(default_factory=dict)
    artefacts: Artefacts = field(default_factory=Artefacts)
    bundles: Bundles | None = None
    disks: tuple[Path, ...] = ()
    gateway_in_pods: str = ""


def run_attempt(message: AttemptMessage, pods: Pods, node: Node) -> AttemptRecord:
    """Run one attempt to its end and return what it left. Raises nothing but by a bug of ours."""
    return _told(message, node, lambda here, story: _live(here, pods, node, story))


def refused_attempt(message: AttemptMessage, refusal: PodError, node: Node) -> AttemptRecord:
    """The record of an attempt for which this node has no pods."""

    def refuse(_: AttemptMessage, __: Story) -> None:
        raise refusal

    return _told(message, node, refuse)


def _told(
    message: AttemptMessage, node: Node, live: Callable[[AttemptMessage, Story], None]
) -> AttemptRecord:
    began, cpu_s = Instant.now(), time.thread_time()
    message = on_this_clock(message, began.at)
    story = Story(began_at=began.at, disks=node.disks)
    ceiling_bytes = message.limits.memory_ceiling_bytes
    with (
        node.bearings.watch.span() as load,
        node.slots.taken(message.attempt_id, ceiling_bytes) as neighbours,
    ):
        try:
            live(message, story)
        except PodError as error:
            story.fault = Fault(cause=error.cause, message=str(error), facts=error.facts)
        except DesignError as error:
            story.fault = Fault(cause="start_failed", message=str(error))
        except Exception as error:  # the boundary: a bug of ours is evidence, never a lost trial
            story.harness_fault = _words(error)
        story.look_at_disks()
        withdrawn = node.slots.withdrawn(message.attempt_id)
        if withdrawn and not story.ended:  # whatever else broke, broke because of it
            story.fault, story.harness_fault = withdrawn, ""
    around = Surroundings(
        node.id,
        node.bearings,
        node.slots.size,
        neighbours,
        load,
        began,
        ended=Instant.now(),
        overhead_cpu_s=time.thread_time() - cpu_s,
    )
    blobs = node.bundles.place(message.blobs) if node.bundles else None
    kept = node.artefacts.keep(message.attempt_id, story.logs, blobs, story.files)
    return told(message, story, around, kept)


def _live(message: AttemptMessage, pods: Pods, node: Node, story: Story) -> None:
    with story.clock("prepare_s"):
        task = node.bundles.at_hand(message.task, message.blobs) if node.bundles else message.task
    assignment = Assignment(
        task,
        message.entry,
        message.key.sample,
        message.seed,
        node.environ,
        message.api,
        _gateway_in_pods(message, node),
    )
    agent = choose(message.entry)
    order = order_of(message, assignment)
    refusal = pods.refuse(order)
    if refusal:
        story.fault = Fault(cause="start_failed", message=refusal)
        return
    with story.clock("prepare_s"):
        story.image_id = pods.prepare(order)
    pod = pods.pod(order)

    def withdrawn() -> bool:
        return node.slots.withdrawn(message.attempt_id) is not None

    node.slots.hold(message.attempt_id, pod)
    if withdrawn():
        return
    try:
        with story.clock("start_s"):
            story.effective = pod.start()
        _phases(message, pod, agent, assignment, story, withdrawn)
        story.ended = not withdrawn()
    finally:
        with story.clock("stop_s"):
            _remove(pod, story)
        _look_out(pod, story)
        if isinstance(pod, Witnessed):
            story.kube, story.whereabouts = pod.ending(story.verdict_at), pod.whereabouts()


def _gateway_in_pods(message: AttemptMessage, node: Node) -> str:
    if message.api is None or message.network_in_force not in WATCHED:
        return node.gateway_in_pods
    return in_pod(message.api.url)


def _phases(
    message: AttemptMessage,
    pod: Pod,
    agent: Agent,
    assignment: Assignment,
    story: Story,
    withdrawn: Callable[[], bool],
) -> None:
    with story.phase(pod, "setup", keep=True):
        folders = [inside(pod, f"/logs/{name}") for name in ("agent", "verifier", "artifacts")]
        pod.exec(["mkdir", "-p", *folders], timeout_s=FOLDERS_TIMEOUT_S)
        story.agent_fault = _set_up(agent, pod, assignment)
    _look_out(pod, story)
    if story.broken_off or withdrawn():
        return
    try:
        with story.phase(pod, "agent", keep=message.keep_services) as ended:
            tried = _try(agent, pod, assignment, message, story)
            story.answered, story.agent_fault = tried.answered, tried.fault
            story.api_fault = tried.api_fault
            ended.result = tried.result
            _ask_for_api_use(message, story, tried)
    finally:
        if isinstance(agent, Recorder):
            story.files = dict(agent.files())
        _look_out(pod, story)
    if story.broken_off or withdrawn() or _too_late(message, story):
        return
    with story.phase(pod, "verifier") as ended:
        limit_s = _within(message, message.verifier_timeout_s, story)
        ended.result, story.reward = verify(pod, assignment, limit_s)
        story.verdict_at = time.time()
    _too_late(message, story)


def _look_out(pod: Pod, story: Story) -> None:
    """Keep what went out of the pod until now: its way out may break later."""
    if isinstance(pod, Watched):
        story.egress = pod.egress()


def _set_up(agent: Agent, pod: Pod, assignment: Assignment) -> str:
    """Bring the agent in; what is wrong with the agent's own code, as words."""
    try:
        agent.setup(pod, assignment)
    except InfranoiseError:
        raise
    except Exception as error:  # a user's class: its bug is the agent's, not ours
        return _words(error)
    return ""


def _try(
    agent: Agent, pod: Pod, assignment: Assignment, message: AttemptMessage, story: Story
) -> Tried:
    if story.agent_fault:
        return Tried(answered="no", fault=story.agent_fault)
    try:
        return agent.run(pod, assignment, _within(message, message.agent_timeout_s, story))
    except InfranoiseError:
        raise
    except Exception as error:  # a user's class: its bug is the agent's, not ours
        return Tried(fault=_words(error))


def _ask_for_api_use(message: AttemptMessage, story: Story, tried: Tried) -> None:
    """Hear of the model's API while the token still lives."""
    if message.api is None:
        return
    story.api = api_use(message.api)
    waited_s = tried.api_wait_s
    if waited_s is None and story.api is not None:
        waited_s = story.api.wait_s
    if waited_s is not None:
        story.clocks["api_wait_s"] = waited_s


def _remove(pod: Pod, story: Story) -> None:
    try:
        pod.stop()
    except PodError as error:  # the verdict stands; the sweep takes what is left
        story.teardown_fault = str(error)


def on_this_clock(message: AttemptMessage, now: float) -> AttemptMessage:
    """The message with its deadline on this node's clock: what is left of it is home's word, what
    time it is is not (`placed_at` stays home's).

    Args:
        now: when it was received, Unix seconds.
    """
    left_s = message.deadline_at - message.placed_at
    return message.model_copy(update={"deadline_at": now + left_s})


def _left_s(message: AttemptMessage, story: Story) -> float:
    """Seconds until the deadline; a clock that is set meanwhile changes nothing."""
    return message.deadline_at - story.began_at - story.age_s


def _within(message: AttemptMessage, timeout_s: float | None, story: Story) -> float:
    left_s = max(0.1, _left_s(message, story))
    return left_s if timeout_s is None else min(timeout_s, left_s)


def _too_late(message: AttemptMessage, story: Story) -> bool:
    story.deadline_exceeded = _left_s(message, story) <= 0
    return story.deadline_exceeded


def order_of(message: AttemptMessage, assignment: Assignment) -> PodOrder:
    """What an attempt asks of a runtime.

    Raises:
        StartFailed: a `${VAR}` of the task's environment has no value on this node.
    """
    task = assignment.task
    return PodOrder(
        attempt_id=message.attempt_id,
        experiment=message.experiment,
        trial=message.key.text,
        environment=task.environment,
        environment_hash=task.environment_hash,
        limits=message.limits,
        expires_at=message.deadline_at + SLACK_S,
        image=task.image,
        env=assignment.resolved(task.env),
        workdir=task.workdir,
        network=message.network_in_force,
        allow=message.allow_in_force,
        gateway=message.api.url if message.api else "",
        egress_mbps=message.egress_mbps,
        build_timeout_s=message.build_timeout_s,
        relocatable=task.relocatable,
        seat=message.seat,
    )


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
