"""Findings in a terminal: the two sentences, the bands, the causes, the rescued trials."""

from collections.abc import Iterable, Sequence
from typing import Literal

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..bands import BandRow, Lift
from ..findings import Findings
from ..intervals import Interval
from ..kill_replays import replay_sentences
from ..printable import one_line, printable
from ..ranks import Curve
from ..rescued import KilledThenPassed, Outcomes
from ..run_facts import RunFacts
from ..scores import Score
from ..sources_alike import alike
from ..words import counted, duration, percent, points
from .causes_chapter import nobody_counted
from .short_names import short_names
from .unrecorded import unrecorded_text

MOST_ROWS = 15
DASH, TO = "-", "\N{EN DASH}"


def findings_text(found: Findings, run: RunFacts | None = None) -> RenderableType:
    """Everything that the end of a run prints; text from outside cannot steer the terminal."""
    parts: list[RenderableType] = [
        *([unrecorded_text(alike(run.sources))] if run is not None and run.sources else []),
        Text("\n".join(printable(sentence) for sentence in _sentences(found, run)), style="bold"),
        bands_table(found.bands),
    ]
    if any(row.lift for row in found.bands):
        parts.append(lifts_table(found.bands, found.reference))
    if len(found.entries) > 1:
        parts.append(entries_table(found.entries, found.policies))
    if run is not None:
        parts += _run_parts(run)
    return Group(*(Padding(part, (0, 0, 1, 0)) for part in parts))


def _sentences(found: Findings, run: RunFacts | None) -> Iterable[str]:
    yield from found.opening
    if found.arms is not None:
        yield found.arms.sentence
    if run is not None:
        yield from replay_sentences(run.replays)
        if run.stopped is not None:
            yield f"Stopped early. {run.stopped['sentence']}"


def bands_table(rows: Sequence[BandRow]) -> RenderableType:
    """Per band: counts, infra error rate with its interval, score three ways."""
    table = _table("band", "trials", "infra %", "95 %", "score %", "excluded %", "bounds %")
    for row in rows:
        table.add_row(*_band_cells(row))
    return _titled("Bands: infra errors, and the score strict, excluded, bounds", table)


def lifts_table(rows: Sequence[BandRow], reference: str) -> RenderableType:
    """Per band: score minus the reference's, in points, with both intervals."""
    table = _table("band", "points", "95 % same tasks", "95 % new tasks", "shown equal within")
    for row in rows:
        if row.lift is not None:
            table.add_row(*_lift_cells(row, row.lift))
    return _titled(f"Lift of the score against {one_line(reference, 40)}", table)


def entries_table(curves: Sequence[Curve], policies: Sequence[str]) -> RenderableType:
    """Strict scores of every entry by band."""
    table = _table("entry", *(row.band for row in curves[0].bands))
    for curve in curves:
        name = _shown(curve.entry)
        if curve.entry in policies:
            name.append("  policy", style="dim")
        scores = (row.score.strict if row.score else None for row in curve.bands)
        table.add_row(name, *(_est(score) for score in scores))
    return _titled("Score by entry and band (infra errors as failures)", table)


def causes_table(run: RunFacts) -> RenderableType:
    """Infra errors by cause and band, and the rate without killed children."""
    words = list(dict.fromkeys(cause for row in run.causes for cause in row.causes))
    more = ("only a child killed", "rate without those", "recovered kills")
    table = _table("band", *(word.replace("_", " ") for word in words), *more)
    for row in run.causes:
        known = not nobody_counted(run)
        without = row.infra_rate_without_collateral if known else None
        table.add_row(
            _shown(row.band),
            *(f"{row.causes.get(word, 0):,}" for word in words),
            f"{row.collateral:,}" if known else DASH,
            percent(without.est) if without else DASH,
            f"{row.kills['recovered']:,}" if known else DASH,
        )
    return _titled("Infra errors by cause", table)


def rescued_table(rows: Sequence[KilledThenPassed]) -> RenderableType:
    """Tasks whose trials were killed low and passed high, the most first."""
    table = _table("task", "entry", *(o.band for o in rows[0].by_band), "samples rescued")
    short = short_names([row.task for row in rows])
    for row in rows[:MOST_ROWS]:
        table.add_row(
            Text(short[row.task]),
            _shown(row.entry),
            *(_letters(o) for o in row.by_band),
            f"{row.rescued} of {row.samples}",
        )
    shown = f"; first {MOST_ROWS} of {len(rows)}" if len(rows) > MOST_ROWS else ""
    key = "K killed by the kernel, P passed, F failed, E other infra error"
    return _titled(f"Killed low, passed high ({key}{shown})", table)


def _run_parts(run: RunFacts) -> Iterable[RenderableType]:
    if any(row.infra_errors or row.kills["recovered"] for row in run.causes):
        yield causes_table(run)
    if run.killed_then_passed:
        yield rescued_table(run.killed_then_passed)
    yield Text(_conditions(run), style="dim")


def _conditions(run: RunFacts) -> str:
    where = ", ".join(f"{one_line(n.node, 40)} ({counted(n.n, 'trial')})" for n in run.nodes)
    how = ", ".join(
        f"{one_line(s.level, 40)} ({s.attempts:,})"
        for s in run.settings
        if s.setting == "enforcement"
    )
    told = [f"nodes: {where or 'none'}", f"ceilings enforced by: {how or 'unknown'}"]
    if run.deviations:
        told.append(f"limits not in force: {counted(len(run.deviations), 'kind')}, see the report")
    if run.cost.elapsed_s is not None:
        told.append(f"took {duration(run.cost.elapsed_s)}")
    return " · ".join(told)


def _titled(title: str, table: Table) -> RenderableType:
    return Group(Text(title, style="bold"), table)


def _table(*headings: str) -> Table:
    """A table without a frame; every column but the first is of numbers. No name is cut off."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, heading in enumerate(headings):
        justify: Literal["left", "right"] = "right" if place else "left"
        table.add_column(_shown(heading), justify=justify, overflow="fold")
    return table


def _band_cells(row: BandRow) -> list[str | Text]:
    if row.infra_rate is None or row.score is None:
        return [_shown(row.band), "0", *[DASH] * 5]
    rate, score = row.infra_rate, row.score
    return [
        _shown(row.band),
        f"{row.n:,}",
        f"{100 * rate.est:.1f}",
        f"{100 * rate.lo:.1f}{TO}{100 * rate.hi:.1f}",
        f"{100 * score.strict.est:.1f}",
        f"{100 * score.excluded.est:.1f}" if score.excluded else DASH,
        f"{100 * score.bounds.lo:.1f}{TO}{100 * score.bounds.hi:.1f}",
    ]


def _lift_cells(row: BandRow, lift: Lift) -> list[str | Text]:
    least = row.equivalence.smallest_margin_same if row.equivalence else None
    return [
        _shown(row.band),
        points(lift.est),
        _span(lift.ci_same),
        _span(lift.ci_new),
        points(least, signed=False) if least is not None else DASH,
    ]


def _span(interval: Interval | None) -> str:
    return f"{points(interval.lo)} to {points(interval.hi)}" if interval else DASH


def _est(score: Score | None) -> str:
    return percent(score.est) if score else DASH


def _letters(ended: Outcomes) -> str:
    killed = ended.oom_killed
    counts = (
        ("K", killed),
        ("P", ended.passed),
        ("F", ended.failed),
        ("E", ended.infra_errors - killed),
    )
    return " ".join(f"{count}{letter}" for letter, count in counts if count) or DASH


def _shown(name: str) -> Text:
    return Text(one_line(name, 40))
