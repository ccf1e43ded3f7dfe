"""The chapter on bands: score and infra errors against the ceiling."""

from ..bands import Lift
from ..equivalence import Equivalence
from ..findings import Findings
from ..printable import one_line
from ..words import listed, number, points
from .bands_points import rate_point, score_point
from .bands_tables import bands_tables
from .chapter import Chapter, Figure
from .charts import entries_chart, rate_chart, score_chart

ALPHA = 0.05


def bands_chapter(found: Findings) -> Chapter:
    """Score and infra error rate by band, the lift with both intervals, the entries apart."""
    order = [one_line(row.band) for row in found.bands]
    rows = [row for row in found.bands if row.score]
    figures = [
        Figure(
            "Score by band: the mean over tasks and entries with infra errors as failures. "
            "Thick bars: 95 % interval on the same tasks; thin bars: on new tasks. Dashed: infra "
            "errors left out. Shaded: all that infra errors could hide.",
            score_chart([score_point(row) for row in rows], order),
        ),
        Figure(
            "Infra errors by band, as a share of the band's trials, with 95 % Wilson intervals.",
            rate_chart([rate_point(row) for row in rows], order),
        ),
    ]
    if len(found.entries) > 1:
        figures.append(_entries_figure(found, order))
    return Chapter(
        anchor="bands",
        title="Score and infra errors by band",
        lead=_lead(found),
        figures=tuple(figures) if rows else (),
        tables=tuple(bands_tables(found)),
        notes=_notes(found),
    )


def _lead(found: Findings) -> str:
    lifts = [row for row in found.bands if row.lift]
    if not lifts:
        return "One band alone has outcomes, so nothing can be compared yet."
    moved = [row for row in lifts if row.lift and _differs(row.lift)]
    equal = [row for row in lifts if row not in moved and _equal(row.equivalence)]
    parts = []
    if moved:
        names = listed([f"{r.band} ({points(r.lift.est)} points)" for r in moved if r.lift])
        parts.append(f"the score differs from that in {found.reference} in {names}")
    if equal:
        margin = points(equal[0].equivalence.margin, signed=False) if equal[0].equivalence else ""
        names = listed([row.band for row in equal])
        parts.append(f"it is shown to be equal within {margin} points in {names}")
    if not parts:
        others = "the other band" if len(lifts) == 1 else f"any of {number(len(lifts))} other bands"
        return (
            f"On these tasks the score in {others} is neither shown to differ from that in "
            f"{found.reference} nor shown to be equal."
        )
    return f"On these tasks {', and '.join(parts)}."


def _differs(lift: Lift) -> bool:
    """Shown to differ on these tasks: by test, or because every repeat ended alike."""
    if lift.se_same == 0.0:
        return lift.est != 0.0
    return lift.p_same is not None and lift.p_same < ALPHA


def _equal(found: Equivalence | None) -> bool:
    return found is not None and found.p_same is not None and found.p_same < ALPHA


def _notes(found: Findings) -> tuple[str, ...]:
    flags = {flag for row in found.bands if row.lift for flag in row.lift.flags}
    notes = [
        "Same tasks: would it repeat on these tasks? New tasks: would it hold on others like them? "
        "Equal within: the smallest margin for which these trials show equality (two one-sided "
        "tests, 5 %). The naive p throws the pairing by task away; it is shown beside, never used."
    ]
    if flags:
        notes.append(f"Flags: {listed(sorted(flags))}.")
    if found.policies:
        verb = "is a policy" if len(found.policies) == 1 else "are policies"
        kind = "a script" if len(found.policies) == 1 else "scripts"
        notes.append(
            f"{listed(found.policies)} {verb}: {kind} whose every step is known beforehand, "
            "not a language model."
        )
    return tuple(notes)


def _entries_figure(found: Findings, order: list[str]) -> Figure:
    rows = [
        {
            "entry": one_line(curve.entry, 60),
            "band": one_line(row.band),
            "score": 100 * row.score.strict.est,
            "n": row.n,
        }
        for curve in found.entries
        for row in curve.bands
        if row.score
    ]
    names = [one_line(curve.entry, 60) for curve in found.entries]
    what = "policy" if len(found.policies) == len(found.entries) else "entry"
    return Figure(f"Score by band, one line per {what}.", entries_chart(rows, order, names))
