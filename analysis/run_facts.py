"""What only a ledger knows of a run: causes, kills, nodes, clocks, configuration, versions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from .. import __version__
from ..models.band import Band
from ..models.classify import VERSION as RULES_VERSION
from ..models.experiment import Experiment
from ..models.secrecy import HIDDEN, without_secrets, words_without_secrets
from ..models.source import Source
from .causes import BandCauses, causes
from .clocks import Clock, Cost, clocks, cost
from .findings import Known
from .hosts import Host, hosts
from .kill_replays import KillReplays, kill_replays
from .read_ledger import Study
from .rescued import KilledThenPassed, killed_then_passed
from .surroundings import (
    Deviation,
    Node,
    Reading,
    Setting,
    Warned,
    deviations,
    nodes,
    readings,
    settings,
    warned,
)


@dataclass(frozen=True, slots=True)
class Kill:
    """One trial with a recorded OOM kill that did not decide it alone; `place` as in design."""

    trial: str
    task: str
    entry: str
    band: str
    sample: int
    place: str
    oom_kills: int | None
    verdict: str


@dataclass(frozen=True, slots=True)
class Versions:
    """By what the numbers were made. `rules` is the version of the outcome table."""

    infranoise: str
    workers: tuple[str, ...]
    rules: int
    fingerprint: str
    tasks: Mapping[str, str]
    images: int


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The run behind the counts. `happened` are the run's own events, each kind with its count;
    `sources` are set where others ran the trials, `stopped` where the run saw enough and left the
    rest of its plan: the `Stopping` that it heeded."""

    experiment: Experiment
    planned: int
    ended: int
    attempts: int
    left_out: tuple[str, ...]
    causes: tuple[BandCauses, ...]
    kills: tuple[Kill, ...]
    killed_then_passed: tuple[KilledThenPassed, ...]
    nodes: tuple[Node, ...]
    settings: tuple[Setting, ...]
    readings: tuple[Reading, ...]
    deviations: tuple[Deviation, ...]
    warned: tuple[Warned, ...]
    hosts: tuple[Host, ...]
    clocks: tuple[Clock, ...]
    cost: Cost
    happened: Mapping[str, int]
    versions: Versions
    sources: tuple[Source, ...] = ()
    replays: tuple[KillReplays, ...] = ()
    stopped: Mapping[str, Any] | None = None


def run_facts(study: Study) -> RunFacts:
    """The facts of a study; outcomes are those of accepted attempts, clocks those of all."""
    accepted = study.attempts.filter(pl.col("accepted"))
    names = [band.name for band in study.experiment.bands]
    factors = [name for name in study.cells.factors if name not in ("task", "entry", "band")]
    short = accepted.height < study.planned
    return RunFacts(
        experiment=masked(study.experiment),
        planned=study.planned,
        ended=accepted.height,
        attempts=study.attempts.height,
        left_out=study.left_out,
        causes=causes(accepted, names),
        kills=_survived_kills(accepted),
        killed_then_passed=killed_then_passed(accepted, ceilings(study.experiment.bands), factors),
        nodes=nodes(accepted, study.nodes),
        settings=settings(accepted),
        readings=readings(accepted),
        deviations=deviations(accepted, names),
        warned=warned(accepted),
        hosts=hosts(accepted),
        clocks=clocks(study.attempts),
        cost=cost(study.attempts),
        happened=_happened(study),
        versions=_versions(study),
        sources=study.sources,
        replays=kill_replays(study.attempts),
        stopped=json.loads(study.stopped) if study.stopped and short else None,
    )


def masked(experiment: Experiment) -> Experiment:
    """The experiment without what is secret in its variables, options and command lines."""
    entries = tuple(
        entry.model_copy(
            update={
                "env": without_secrets(entry.env),
                "options": without_secrets(entry.options),
                "command": words_without_secrets(entry.command) if entry.command else entry.command,
            }
        )
        for entry in experiment.entries
    )
    providers = {
        name: one.model_copy(update={"headers": dict.fromkeys(one.headers, HIDDEN)})
        for name, one in experiment.providers.items()
    }
    return experiment.model_copy(update={"entries": entries, "providers": providers})


def known(run: RunFacts) -> Known:
    """What a run tells beside its counts. Of imported results nobody counted the kills."""
    kills = {row.band: row.causes.get("oom_killed", 0) for row in run.causes}
    return Known(
        planned=run.planned,
        policies=tuple(entry.name for entry in run.experiment.entries if entry.is_policy),
        oom_killed=None if run.sources else kills,
        replays=run.replays,
    )


def ceilings(bands: tuple[Band, ...]) -> dict[str, float]:
    """Memory ceiling of each stated band as a multiple of the spec; inf where there is none."""
    return {
        band.name: float("inf") if band.memory.ceiling == "uncapped" else band.memory.ceiling
        for band in bands
        if band.stated
    }


def _survived_kills(accepted: pl.DataFrame) -> tuple[Kill, ...]:
    """Trials with a kill elsewhere than in the agent's own process."""
    rows = accepted.filter(pl.col("oom").is_in(["collateral", "recovered", "verifier"])).select(
        "trial", "task", "entry", "band", "sample", "oom", "oom_kills", "verdict"
    )
    return tuple(Kill(*row) for row in rows.iter_rows())


def _happened(study: Study) -> dict[str, int]:
    counts: dict[str, int] = {}
    for event in study.events:
        counts[event.kind] = counts.get(event.kind, 0) + 1
    return counts


def _versions(study: Study) -> Versions:
    return Versions(
        infranoise=__version__,
        workers=tuple(study.attempts["worker_version"].drop_nulls().unique().sort()),
        rules=RULES_VERSION,
        fingerprint=study.fingerprint,
        tasks={task.name: task.content_hash for task in study.tasks},
        images=study.attempts["image_id"].replace("", None).drop_nulls().n_unique(),
    )
