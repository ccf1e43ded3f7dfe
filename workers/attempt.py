"""One attempt: pod up, agent in, everything it left running stopped, verifier in, evidence out.

This is the shell round the pods: it decides nothing about the outcome. Whatever happens, a record
comes out.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import __version__
from ..models.conditions import Clocks, Conditions, Usage
from ..models.counters import Counters
from ..models.errors import DesignError, PodError, PodLost
from ..models.evidence import Evidence, Fault, Phase, PhaseName, Tri
from ..models.execution import ExecResult, Stream
from ..models.limits import Effective
from ..models.load import Load
from ..models.message import AttemptMessage, AttemptRecord, Logs
from .artefacts import Artefacts
from .harness.agent import Agent, Assignment, inside
from .harness.choose import choose
from .harness.reward import Reward
from .harness.verifier import verify
from .meters.load import read_load
from .pods.pod import Pod, PodOrder, Pods
from .slots import Neighbours, Slots

SLACK_S = 120.0  # how far past its deadline a pod may live before anyone may reap it
LOG_TAIL_CHARS = 16 * 1024


@dataclass(frozen=True, slots=True)
class Node:
    """What an attempt needs to know of the node that it runs on."""

    id: str
    profile_hash: str
    slots: Slots
    environ: Mapping[str, str] = field(default_factory=dict)
    artefacts: Artefacts | None = None


@dataclass(slots=True)
class _Story:
    """What has been observed so far; becomes the record at the end."""

    phases: list[Phase] = field(default_factory=list)
    fault: Fault | None = None
    reward: Reward = field(default_factory=Reward)
    answered: Tri = "unknown"
    agent_fault: str = ""
    harness_fault: str = ""
    effective: Effective | None = None
    counters: Counters | None = None
    clocks: dict[str, float] = field(default_factory=dict)
    logs: dict[str, ExecResult] = field(default_factory=dict)
    image_id: str = ""
    deadline_exceeded: bool = False


def run_attempt(message: AttemptMessage, pods: Pods, node: Node) -> AttemptRecord:
    """Run one attempt to its end and return what it left. Raises nothing but by a bug of ours."""
    received_at, cpu = time.time(), time.thread_time()
    load_start = read_load()
    story = _Story()
    with node.slots.taken(message.attempt_id) as neighbours:
        try:
            _live(message, pods, node, story)
        except (DesignError, PodError) as error:
            story.fault = _fault(error)
        except Exception as error:  # the boundary: a bug of ours is evidence, never a lost trial
            story.harness_fault = f"{type(error).__name__}: {error}"
    overhead_s = time.thread_time() - cpu
    return _record(message, pods, node, story, neighbours, received_at, load_start, overhead_s)


def _live(message: AttemptMessage, pods: Pods, node: Node, story: _Story) -> None:
    assignment = Assignment(
        message.task, message.entry, message.key.sample, message.seed, node.environ
    )
    agent = choose(message.entry)
    order = _order(message, assignment)
    refusal = pods.refuse(order)
    if refusal:
        story.fault = Fault(cause="start_failed", message=refusal)
        return
    with _clock(story, "prepare_s"):
        story.image_id = pods.prepare(order)
    pod = pods.pod(order)
    node.slots.hold(message.attempt_id, pod)
    try:
        with _clock(story, "start_s"):
            story.effective = pod.start()
        _phases(message, pod, agent, assignment, story)
    finally:
        with _clock(story, "stop_s"):
            pod.stop()


def _phases(
    message: AttemptMessage, pod: Pod, agent: Agent, assignment: Assignment, story: _Story
) -> None:
    with _phase(pod, story, "setup"):
        folders = [inside(pod, f"/logs/{name}") for name in ("agent", "verifier", "artifacts")]
        pod.exec(["mkdir", "-p", *folders], timeout_s=60)
        agent.setup(pod, assignment)
    if story.phases[-1].lost:
        return
    with _phase(pod, story, "agent") as ended:
        tried = agent.run(pod, assignment, _within(message, message.agent_timeout_s))
        story.answered, story.agent_fault = tried.answered, tried.fault
        ended.result = tried.result
    if story.phases[-1].lost or _too_late(message, story):
        return
    with _phase(pod, story, "verifier") as ended:
        ended.result, story.reward = verify(
            pod, assignment, _within(message, message.verifier_timeout_s) or 0.0
        )
    _too_late(message, story)


@dataclass(slots=True)
class _Ended:
    result: ExecResult | None = None


class _phase:
    """Times a phase, stops what it left running, and reads the counters from outside."""

    def __init__(self, pod: Pod, story: _Story, name: PhaseName) -> None:
        self._pod, self._story, self._name = pod, story, name
        self._ended = _Ended()

    def __enter__(self) -> _Ended:
        self._since = time.monotonic()
        return self._ended

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        wall_s = time.monotonic() - self._since
        self._story.clocks[f"{self._name}_s"] = wall_s
        left_behind = self._pod.quiesce() if self._name != "setup" else 0
        before, now = self._story.counters, self._pod.counters()
        self._story.counters = now
        result = self._ended.result
        if result is not None:
            self._story.logs[self._name] = result
        self._story.phases.append(
            Phase(
                name=self._name,
                exit_code=result.exit_code if result else None,
                timed_out=bool(result and result.timed_out),
                wall_s=result.wall_s if result else wall_s,
                oom_kills=_since(before, now),
                left_behind=left_behind,
                lost=str(error) if isinstance(error, PodLost) else "",
                counters=now,
            )
        )
        return isinstance(error, PodLost)


class _clock:
    """Adds the seconds inside to one of the attempt's clocks."""

    def __init__(self, story: _Story, name: str) -> None:
        self._story, self._name = story, name

    def __enter__(self) -> None:
        self._since = time.monotonic()

    def __exit__(self, *exc: object) -> None:
        self._story.clocks[self._name] = time.monotonic() - self._since


def _since(before: Counters | None, now: Counters) -> int | None:
    if now.oom_kills is None:
        return None
    return now.oom_kills - ((before.oom_kills or 0) if before else 0)


def _within(message: AttemptMessage, timeout_s: float | None) -> float | None:
    left_s = max(0.1, message.deadline_at - time.time())
    return left_s if timeout_s is None else min(timeout_s, left_s)


def _too_late(message: AttemptMessage, story: _Story) -> bool:
    story.deadline_exceeded = time.time() >= message.deadline_at
    return story.deadline_exceeded


def _order(message: AttemptMessage, assignment: Assignment) -> PodOrder:
    task = message.task
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
        network="none" if task.network_mode == "no-network" else message.network,
        build_timeout_s=message.build_timeout_s,
        relocatable=task.relocatable,
    )


def _fault(error: DesignError | PodError) -> Fault:
    if isinstance(error, PodError):
        return Fault(cause=error.cause, message=str(error), facts=error.facts)
    return Fault(cause="start_failed", message=str(error))


def _record(
    message: AttemptMessage,
    pods: Pods,
    node: Node,
    story: _Story,
    neighbours: Neighbours,
    received_at: float,
    load_start: Load,
    overhead_s: float,
) -> AttemptRecord:
    at = time.gmtime(received_at)
    return AttemptRecord(
        attempt_id=message.attempt_id,
        trial_id=message.trial_id,
        experiment=message.experiment,
        number=message.number,
        evidence=_evidence(story),
        conditions=Conditions(
            node=node.id,
            node_profile=node.profile_hash,
            runtime=pods.name,
            network=message.network,
            requested=message.limits,
            effective=story.effective,
            slots=node.slots.size,
            co_running_start=neighbours.start,
            co_running_peak=neighbours.peak,
            co_running_end=neighbours.end,
            load_start=load_start,
            load_end=read_load(),
            hour_utc=at.tm_hour,
            weekday=at.tm_wday,
        ),
        usage=_usage(story, overhead_s),
        clocks=Clocks(
            queued_at=message.queued_at,
            placed_at=message.placed_at,
            received_at=received_at,
            ended_at=time.time(),
            **story.clocks,
        ),
        logs=Logs(**{name: _tail(result) for name, result in story.logs.items()}),
        artefacts=node.artefacts.keep(message.attempt_id, story.logs) if node.artefacts else (),
        image_id=story.image_id,
        worker_version=__version__,
    )


def _evidence(story: _Story) -> Evidence:
    exceeded = story.counters.storage_exceeded if story.counters else None
    return Evidence(
        fault=story.fault,
        phases=tuple(story.phases),
        reward=story.reward.reward,
        rewards=dict(story.reward.rewards),
        reward_fault=story.reward.fault,
        answered=story.answered,
        agent_fault=story.agent_fault,
        harness_fault=story.harness_fault,
        storage_exceeded=_tri(exceeded),
        deadline_exceeded=story.deadline_exceeded,
        enforcement=story.effective.enforcement if story.effective else "",
    )


def _tri(fact: bool | None) -> Tri:
    if fact is None:
        return "unknown"
    return "yes" if fact else "no"


def _usage(story: _Story, overhead_s: float) -> Usage:
    cpu = {p.name: p.counters.cpu_s for p in story.phases if p.counters}
    return Usage(
        counters=story.counters,
        agent_cpu_s=_spent(cpu.get("setup"), cpu.get("agent")),
        verifier_cpu_s=_spent(cpu.get("agent"), cpu.get("verifier")),
        overhead_cpu_s=overhead_s,
    )


def _spent(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else max(0.0, after - before)


def _tail(result: ExecResult) -> Stream:
    """Both streams' tails, short enough to travel: standard error last, where faults are."""
    text = result.stdout.tail + (f"\n[stderr]\n{result.stderr.tail}" if result.stderr.tail else "")
    return Stream(
        tail=text[-LOG_TAIL_CHARS:],
        total_bytes=result.stdout.total_bytes + result.stderr.total_bytes,
        truncated=len(text) > LOG_TAIL_CHARS or result.stdout.truncated or result.stderr.truncated,
    )
