"""From an owed trial to the message that a node runs: pure but for the clock handed in."""

import hashlib
from collections.abc import Mapping

from ..models.band import Band
from ..models.egress import egress_level
from ..models.errors import DesignError
from ..models.experiment import Experiment
from ..models.ledger.attempts import Owed, Replay
from ..models.message import AttemptMessage
from ..models.replay import replay_band
from ..models.seating import Seat
from ..models.spec import Spec
from ..models.task import Task
from ..models.trial import TrialKey, attempt_id

BEFORE_AGENT_S = 900.0  # room for set-up and teardown under the deadline, beside build and limits


def order(
    experiment: Experiment,
    tasks: Mapping[str, Task],
    owed: Owed,
    key: TrialKey,
    *,
    queued_at: float,
    now: float,
) -> AttemptMessage:
    """The message of a trial's next attempt. Times are Unix seconds.

    Raises:
        DesignError: `pods.runtime` is still "auto"; it is settled before a plan is enrolled.
    """
    runtime = experiment.pods.runtime
    if runtime == "auto":
        raise DesignError(f"experiment {experiment.name}: the pod runtime is not settled")
    task = tasks[key.cell.task]
    spec = task.spec.or_default(experiment.pods.default_spec)
    band = band_of(experiment, key.cell.band, owed.replay)
    agent_s = agent_timeout_s(experiment, task, key)
    return AttemptMessage(
        attempt_id=attempt_id(owed.id, owed.next_number),
        trial_id=owed.id,
        experiment=experiment.name,
        key=key,
        number=owed.next_number,
        task=_with_image(task, experiment),
        entry=next(entry for entry in experiment.entries if entry.name == key.cell.entry),
        limits=band.limits(spec),
        runtime=runtime,
        network=experiment.pods.network,
        allow=experiment.pods.allow,
        egress_mbps=egress_level(key),
        agent_timeout_s=agent_s,
        verifier_timeout_s=spec.verifier_timeout_s,
        build_timeout_s=spec.build_timeout_s,
        keep_services=experiment.pods.after_agent == "keep",
        seed=sample_seed(experiment.seed, key),
        replay_in=owed.replay.ceiling if owed.replay else None,
        seat=_seat(experiment, key, owed) if runtime == "kubernetes" else None,
        queued_at=queued_at,
        placed_at=now,
        deadline_at=now + _longest_s(experiment, agent_s, spec),
    )


def _longest_s(experiment: Experiment, agent_s: float, spec: Spec) -> float:
    limits = experiment.limits
    waits_s = limits.longest_api_wait_s if limits.api_wait == "excluded" else 0.0
    cluster = experiment.pods.kubernetes if experiment.pods.runtime == "kubernetes" else None
    room_s = cluster.schedule_timeout_s if cluster else 0.0
    before_s = room_s + spec.build_timeout_s + BEFORE_AGENT_S
    return before_s + agent_s + waits_s + spec.verifier_timeout_s


def band_of(experiment: Experiment, band: str, replay: Replay | None) -> Band:
    """The band in which an attempt runs: its trial's, or the higher one of a kill replay.

    Raises:
        DesignError: a replay whose ceiling is not above the trial's band.
    """
    if replay is None:
        return next(known for known in experiment.bands if known.name == band)
    higher = replay_band(experiment.bands, band, replay.ceiling)
    if higher is None:
        raise DesignError(f"attempt {replay.of}: {replay.ceiling} is no higher ceiling than {band}")
    return higher


def _seat(experiment: Experiment, key: TrialKey, owed: Owed) -> Seat:
    """Where among the pods of its block, or of its wave where bands are isolated, a pod goes."""
    cell, asked = key.cell, experiment.pods.kubernetes
    block = f"{cell.task}\x00{cell.entry}\x00{cell.levels}\x00{key.sample}"
    within = f"wave {owed.wave}" if asked.isolate == "band" else block
    names = [band.name for band in experiment.bands]
    return Seat(
        asked=asked,
        band=owed.replay.ceiling if owed.replay else cell.band,
        shuffle=f"{experiment.seed}\x00{within}",
        turn=names.index(cell.band),
        of=len(names),
    )


def _with_image(task: Task, experiment: Experiment) -> Task:
    build = experiment.pods.images == "build" and task.has_dockerfile
    return task.model_copy(update={"image": None}) if build else task


def agent_timeout_s(experiment: Experiment, task: Task, key: TrialKey) -> float:
    """The agent's clock for a trial: the task's, or the experiment's default, times its level."""
    declared = task.spec.agent_timeout_s or experiment.run.default_agent_timeout_s
    level = next((float(level) for name, level in key.cell.levels if name == "time_limit"), 1.0)
    return declared * level


def sample_seed(seed: int, key: TrialKey) -> int:
    """A sample's seed: one for all bands and levels, so that those differ in nothing else."""
    text = f"{seed}\x00{key.cell.task}\x00{key.cell.entry}\x00{key.sample}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6])


def concurrency_by_wave(levels: Mapping[int, tuple[tuple[str, str], ...]]) -> dict[int, int]:
    """Trials in flight that each wave asks for, from the wave's levels."""
    return {
        wave: int(level)
        for wave, pairs in levels.items()
        for name, level in pairs
        if name == "concurrency"
    }
