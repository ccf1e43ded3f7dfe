"""Imported trees of one kind and one harness as one: what they do not record is told once. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain

from ..models.source import ModeCount, Source, Unrecorded


def alike(sources: Iterable[Source]) -> tuple[Source, ...]:
    """The sources, those of the same kind and harness as one with the trials of all, in order."""
    groups: defaultdict[tuple[str, str], list[Source]] = defaultdict(list)
    for source in sources:
        groups[source.kind, source.harness].append(source)
    return tuple(_as_one(group) if len(group) > 1 else group[0] for group in groups.values())


def _as_one(group: Sequence[Source]) -> Source:
    return group[0].model_copy(
        update={
            "path": ", ".join(source.path for source in group),
            "files": sum(source.files for source in group),
            "trials": sum(source.trials for source in group),
            "copies": sum(source.copies for source in group),
            "modes": _modes(group),
            "unrecorded": _unrecorded(group),
            "totals": tuple(chain.from_iterable(source.totals for source in group)),
            "faults": tuple(chain.from_iterable(source.faults for source in group)),
        }
    )


def _unrecorded(group: Sequence[Source]) -> tuple[Unrecorded, ...]:
    """Every lack of any of them once; it touches all trials where it touches all of one."""
    touched: dict[tuple[str, str], int | None] = {}
    for lack in chain.from_iterable(source.unrecorded for source in group):
        before = touched.get((lack.what, lack.why), 0)
        both = None if before is None or lack.trials is None else before + lack.trials
        touched[lack.what, lack.why] = both
    return tuple(
        Unrecorded(what=what, why=why, trials=trials) for (what, why), trials in touched.items()
    )


def _modes(group: Sequence[Source]) -> tuple[ModeCount, ...]:
    met: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one in chain.from_iterable(source.modes for source in group):
        counts = {"attempts": one.attempts, "passed": one.passed, "unjudged": one.unjudged}
        met[one.mode, one.judged].update(counts)
    merged = [ModeCount(mode=mode, judged=judged, **n) for (mode, judged), n in met.items()]
    return tuple(sorted(merged, key=lambda one: -one.attempts))
