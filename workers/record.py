"""From an attempt's story to the record that goes home."""

import time
from dataclasses import dataclass
from typing import Any

from .. import __version__
from ..models.api_call import ApiUse
from ..models.conditions import Clocks, Conditions, Usage
from ..models.egress import egress_text
from ..models.evidence import Evidence, Tri
from ..models.execution import ExecResult, Stream
from ..models.message import Artefact, AttemptMessage, AttemptRecord, Logs
from ..models.validity import Seen, warnings_of
from .bearings import Bearings
from .clock_offset import Instant
from .meters.load_watch import Span
from .pods.pod import Whereabouts
from .slots import Neighbours
from .story import Story

LOG_TAIL_CHARS = 16 * 1024


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What surrounded an attempt on its node, from when it was received until it had ended."""

    node: str
    bearings: Bearings
    slots: int
    neighbours: Neighbours
    load: Span
    began: Instant
    ended: Instant
    overhead_cpu_s: float


def told(
    message: AttemptMessage, story: Story, around: Surroundings, kept: tuple[Artefact, ...]
) -> AttemptRecord:
    """The record of an attempt that has ended."""
    place = story.whereabouts
    conditions = _conditions(message, story, around)
    usage = _usage(story, around.overhead_cpu_s)
    seen = Seen(
        conditions,
        usage,
        around.ended.monotonic_s - around.began.monotonic_s,
        None if place else around.bearings.profile,
    )
    return AttemptRecord(
        attempt_id=message.attempt_id,
        trial_id=message.trial_id,
        experiment=message.experiment,
        number=message.number,
        evidence=evidence_of(story),
        conditions=conditions.model_copy(update={"warnings": warnings_of(seen)}),
        usage=usage,
        clocks=Clocks(
            queued_at=message.queued_at,
            placed_at=message.placed_at,
            received_at=around.began.at,
            ended_at=time.time(),
            **story.clocks,
        ),
        logs=Logs(**{name: tail(result) for name, result in story.logs.items()}),
        artefacts=kept,
        image_id=(place.pod.image_id if place else "") or story.image_id,
        worker_version=__version__,
        profile=place.profile if place else None,
    )


def evidence_of(story: Story) -> Evidence:
    """The facts of a story from which its outcome is judged."""
    return Evidence(
        fault=story.fault,
        phases=tuple(story.phases),
        reward=story.reward.reward,
        rewards=dict(story.reward.rewards),
        reward_fault=story.reward.fault,
        answered=story.answered,
        agent_fault=story.agent_fault,
        harness_fault=story.harness_fault,
        teardown_fault=story.teardown_fault,
        storage_exceeded=_tri(story.counters.storage_exceeded if story.counters else None),
        node_disk_full=_tri(story.disk_full),
        deadline_exceeded=story.deadline_exceeded,
        enforcement=story.effective.enforcement if story.effective else "",
        kube=story.kube,
        api=story.api,
        api_fault=story.api_fault,
        egress=story.egress,
    )


def tail(result: ExecResult) -> Stream:
    """Both streams' tails, short enough to travel: standard error last, where faults are."""
    text = result.stdout.tail + (f"\n[stderr]\n{result.stderr.tail}" if result.stderr.tail else "")
    return Stream(
        tail=text[-LOG_TAIL_CHARS:],
        total_bytes=result.stdout.total_bytes + result.stderr.total_bytes,
        truncated=len(text) > LOG_TAIL_CHARS or result.stdout.truncated or result.stderr.truncated,
    )


def _conditions(message: AttemptMessage, story: Story, around: Surroundings) -> Conditions:
    at = time.gmtime(around.began.at)
    neighbours, offset = around.neighbours, around.bearings.offset
    there = _in_a_cluster(story.whereabouts, around) if story.whereabouts else {}
    here: dict[str, Any] = {
        "node": around.node,
        "node_profile": around.bearings.profile_hash,
        "load_start": around.load.start,
        "load_peak": around.load.peak,
        "load_end": around.load.end,
        "probe": around.bearings.probe,
    }
    return Conditions(
        **(here | there),
        runtime=message.runtime,
        network=message.network_in_force,
        allow=message.allow_in_force,
        egress_asked=None if message.egress_mbps is None else egress_text(message.egress_mbps),
        requested=message.limits,
        effective=story.effective,
        slots=around.slots,
        co_running_start=neighbours.start,
        co_running_peak=neighbours.peak,
        co_running_end=neighbours.end,
        co_running_mean=round(neighbours.mean, 3),
        concurrency=message.key.concurrency,
        ceilings_peak_bytes=neighbours.ceilings_peak_bytes,
        clock_offset_s=offset.offset_s if offset else None,
        clock_error_s=offset.error_s if offset else None,
        clock_step_s=around.began.step_s(around.ended),
        suspended_s=around.began.suspended_s(around.ended),
        hour_utc=at.tm_hour,
        weekday=at.tm_wday,
    )


def _in_a_cluster(place: Whereabouts, around: Surroundings) -> dict[str, Any]:
    """Where the pod was, which is not where its worker is; its worker where no node took it."""
    return {
        "node": place.pod.node or around.node,
        "node_profile": place.profile.profile_hash if place.profile else None,
        "load_start": place.load_start,
        "load_peak": None,
        "load_end": place.load_end,
        "probe": None,
        "worker": around.node,
        "pod": place.pod,
    }


def _usage(story: Story, overhead_cpu_s: float) -> Usage:
    api = story.api or ApiUse()
    tokens = api.tokens
    cpu = {p.name: p.counters.cpu_s for p in story.phases if p.counters}
    return Usage(
        counters=story.counters,
        agent_cpu_s=_spent(cpu.get("setup"), cpu.get("agent")),
        verifier_cpu_s=_spent(cpu.get("agent"), cpu.get("verifier")),
        overhead_cpu_s=overhead_cpu_s,
        api_calls=api.calls if story.api else None,
        input_tokens=tokens.total - tokens.output if tokens else None,
        output_tokens=tokens.output if tokens else None,
        cost_usd=api.cost_usd,
    )


def _tri(fact: bool | None) -> Tri:
    if fact is None:
        return "unknown"
    return "yes" if fact else "no"


def _spent(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else max(0.0, after - before)
