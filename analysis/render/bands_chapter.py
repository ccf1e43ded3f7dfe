"""The chapter on bands: score and infra errors against the ceiling."""

from collections.abc import Sequence

from ..balance import imbalanced
from ..bands import BandRow, Lift
from ..equivalence import Equivalence
from ..findings import Findings
from ..printable import one_line
from ..score_sentence import UNNAMED
from ..trend import Trend
from ..words import counted, listed, number, p_value, points
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
        lead=_lead(found) + _uneven(found),
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
            f"{found.reference} nor shown to be equal{_before_holm(lifts)}."
        )
    return f"On these tasks {', and '.join(parts)}."


def _before_holm(rows: Sequence[BandRow]) -> str:
    """What a single test finds and the correction over all bands takes back."""
    found = [
        (row.lift.p_same, row.band)
        for row in rows
        if row.lift and row.lift.p_same is not None and row.lift.p_same < ALPHA
    ]
    if not found:
        return ""
    told = listed([f"{band} ({p_value(p)})" for p, band in found])
    return f"; taken alone, without Holm over the bands, {told} would differ"


def _differs(lift: Lift) -> bool:
    """Shown to differ on these tasks: by test, Holm over bands; or as all repeats ended alike."""
    if lift.se_same == 0.0:
        return lift.est != 0.0
    return lift.p_holm_same is not None and lift.p_holm_same < ALPHA


def _equal(found: Equivalence | None) -> bool:
    return found is not None and found.p_same is not None and found.p_same < ALPHA


def _notes(found: Findings) -> tuple[str, ...]:
    flags = {flag for row in found.bands if row.lift for flag in row.lift.flags}
    notes = [
        "Same tasks: would it repeat on these tasks? New tasks: would it hold on others like them? "
        "A score is said to differ where p is below 5 % after Holm over the bands. "
        "Shown equal within: the smallest margin for which these trials show equality (two "
        "one-sided tests, 5 % each band). The naive p throws the pairing by task away; it is shown "
        "beside, never used."
    ]
    if told := _trend(found.trend):
        notes.append(told)
    if {tile.task for tile in found.heat_map} == {UNNAMED}:
        notes.insert(
            0,
            "No column names the tasks: all trials are one stratum. Nothing can be paired by task, "
            "so that the same-task p is about the naive one, and nothing be said of other tasks.",
        )
    notes += _split_notes(found)
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


def _uneven(found: Findings) -> str:
    """What the plain lifts do not hold apart."""
    rows = imbalanced(found.design.balance) if found.design else ()
    beside = [row.beside for row in rows if row.factor == "band"]
    if not beside:
        return ""
    return (
        f" Beware: the band goes together with {listed(beside)} by more than chance, and these "
        "lifts do not adjust for that; the chapter on what moves the score does."
    )


def _split_notes(found: Findings) -> list[str]:
    if not found.splits:
        return []
    notes = [
        "Killed trials like the others: the split if killed trials would have passed as often as "
        "others of their task; they are worse than average, so it leans to rescue."
    ]
    rising = [band for band, split in found.splits.items() if not split.monotone]
    if rising:
        notes.append(
            f"In {listed(rising)} infra errors did not fall below those of {found.reference}: "
            "there is nothing to rescue, and the bounds' assumption does not fit."
        )
    return notes


def _trend(found: Trend | None) -> str:
    """One line on both trends over the bands in order."""
    if found is None:
        return ""
    parts = []
    if found.infra_cochran_armitage_p is not None:
        parts.append(
            f"infra errors {p_value(found.infra_cochran_armitage_p)} (Cochran-Armitage, chi-square "
            f"{found.infra_cochran_armitage:.1f} on 1 df)"
        )
    if found.score_page_p is not None:
        parts.append(
            f"score {p_value(found.score_page_p)} that it does not rise with the band (Page, "
            f"one-sided, {counted(found.page_blocks, 'task')} as blocks)"
        )
    return f"Trend over the bands in order: {'; '.join(parts)}." if parts else ""


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
