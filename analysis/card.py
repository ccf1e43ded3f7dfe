"""A study as its infra card. Pure."""

import polars as pl

from .. import __version__
from ..models.band import Band, Share
from ..models.card import (
    BandCard,
    Card,
    ClockCard,
    EntryCard,
    ErrorsCard,
    NodeCard,
    ShareCard,
    SourceCard,
    SpreadCard,
)
from ..models.classify import VERSION as RULES_VERSION
from .causes import BandCauses
from .configuration import AGENT_LIMIT, TIME_LIMIT, configuration
from .levels import ordered
from .model_api import model_api
from .read_ledger import Study
from .run_facts import RunFacts


def card(study: Study, run: RunFacts) -> Card:
    """Everything that a study states of its infrastructure, and nothing that it does not."""
    accepted = study.attempts.filter("accepted")
    told = configuration(study)
    own = not study.sources
    return Card(
        experiment=study.experiment.name,
        fingerprint=study.fingerprint if own else None,
        entries=tuple(
            EntryCard(name=e.name, agent=e.agent, model=e.model) for e in study.experiment.entries
        ),
        tasks={task.name: task.content_hash for task in study.tasks},
        samples=_samples(accepted),
        seed=study.experiment.seed if own else None,
        trials_planned=run.planned,
        trials_ended=run.ended,
        dates=next(iter(told.items["dates"]), None),
        bands=tuple(_band(band, own=own) for band in study.experiment.bands),
        enforcement=told.items["enforcement"],
        limits_not_in_force=tuple(deviation.what for deviation in run.deviations),
        runtime=told.items["runtime"],
        nodes=_nodes(run),
        concurrency=told.items["trials at once"],
        concurrency_in_force=_spread(accepted["co_running_peak"]),
        egress=(*told.items["network"], *_caps(accepted)),
        received_bytes=run.cost.rx_bytes,
        sent_bytes=run.cost.tx_bytes,
        time_limits=told.items[TIME_LIMIT],
        agent_time_limits=told.items[AGENT_LIMIT],
        model_api=model_api(study),
        attempts=run.attempts,
        attempts_per_trial_at_most=_most(study.attempts["number"]),
        clocks=tuple(
            ClockCard(
                part=clock.part,
                n=clock.n,
                median_s=clock.median_s,
                p90_s=clock.p90_s,
                longest_s=clock.longest_s,
            )
            for clock in run.clocks
        ),
        infra_errors=tuple(_errors(row) for row in run.causes if row.n),
        excluded=(*study.left_out, *study.experiment.exclude),
        harness=told.items["harness"],
        agent_versions=told.items["agent version"],
        outcome_rules=RULES_VERSION,
        infranoise=__version__,
        sources=tuple(
            SourceCard(
                kind=s.kind,
                harness=s.harness,
                content_hash=s.content_hash,
                modes_version=s.modes_version,
                overrides=s.overrides,
                unrecorded=s.unrecorded,
            )
            for s in study.sources
        ),
        configuration=dict(told.items),
    )


def _band(band: Band, *, own: bool) -> BandCard:
    """A band; of others' trials a shorthand says nothing but floors and ceilings."""
    if not band.stated:
        return BandCard(name=band.name)
    return BandCard(
        name=band.name,
        memory=_share(band.memory),
        cpu=_share(band.cpu),
        storage=_share(band.storage),
        oom_scope=band.oom_scope if own else None,
        swap=band.swap if own else None,
    )


def _share(share: Share) -> ShareCard:
    return ShareCard(floor=share.floor, ceiling=share.ceiling)


def _caps(accepted: pl.DataFrame) -> tuple[str, ...]:
    """The levels of an egress factor, in words; none where there was no such factor."""
    asked = ordered(accepted["egress_asked"].drop_nulls())
    return tuple(
        "link as fast as it is" if level == "unlimited" else f"link capped at {level} Mbit/s"
        for level in asked
    )


def _samples(accepted: pl.DataFrame) -> int | None:
    """Samples of a cell, where all cells have as many."""
    if accepted.is_empty():
        return None
    counts = accepted.group_by("task", "entry", "band").len()["len"]
    return int(counts[0]) if counts.n_unique() == 1 else None


def _nodes(run: RunFacts) -> tuple[NodeCard, ...]:
    """Machines by kind, those that ran most first; their names are nobody's business."""
    kinds: dict[str, NodeCard] = {}
    for node in run.nodes:
        key = node.profile.profile_hash if node.profile else ""
        seen = kinds.get(key, NodeCard(profile=node.profile, nodes=0, trials=0))
        kinds[key] = seen.model_copy(
            update={"nodes": seen.nodes + 1, "trials": seen.trials + node.n}
        )
    told = [kind for kind in kinds.values() if kind.profile is not None]
    return tuple(sorted(told, key=lambda kind: -kind.trials)) if len(told) == len(kinds) else ()


def _spread(readings: pl.Series) -> SpreadCard | None:
    told = readings.drop_nulls().cast(pl.Float64)
    if told.is_empty():
        return None
    row = told.to_frame("x").select(
        n=pl.len(), low=pl.col("x").min(), median=pl.col("x").median(), high=pl.col("x").max()
    )
    return SpreadCard(**row.row(0, named=True))


def _most(numbers: pl.Series) -> int | None:
    most = numbers.max()
    return most if isinstance(most, int) else None


def _errors(row: BandCauses) -> ErrorsCard:
    rate, without = row.infra_rate, row.infra_rate_without_collateral
    assert rate is not None
    assert without is not None
    return ErrorsCard(
        band=row.band,
        trials=row.n,
        infra_errors=row.infra_errors,
        rate=rate.est,
        interval=(rate.lo, rate.hi),
        rate_without_collateral=without.est,
        causes=dict(row.causes),
    )
