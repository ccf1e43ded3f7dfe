"""The tables on bands: counts and scores, lifts, their split, entries, rank changes."""

from collections.abc import Iterator

from ..bands import BandRow, Lift
from ..findings import Findings
from ..intervals import Interval
from ..ranks import Curve
from ..split import Split
from ..words import p_value, percent, percents, points
from .chapter import ABSENT, Cell, Table, table


def bands_tables(found: Findings) -> Iterator[Table]:
    """Bands, lifts, their split, entries, rank changes: those that there are."""
    yield table(
        "Bands: trials, infra errors with 95 % Wilson intervals, and the score three ways",
        ("band", "trials", "passed", "infra errors", "rate", "95 % interval", "score",
         "without infra errors", "bounds"),
        [_band_line(row) for row in found.bands],
    )  # fmt: skip
    if any(row.lift for row in found.bands):
        yield table(
            f"Lift of the score against {found.reference}, in points, with both 95 % intervals",
            ("band", "lift", "same tasks", "p", "Holm", "new tasks", "p", "naive p"),
            [_lift_line(row, row.lift) for row in found.bands if row.lift],
        )
        yield table(
            f"Is the score shown to be equal to that in {found.reference}, and are errors fewer? "
            "(points)",
            ("band", f"equal within {_margin(found)}: p, same tasks", "p, new tasks",
             "shown equal within, same tasks", "new tasks", "infra errors", "p"),
            [_equal_line(row) for row in found.bands if row.lift],
        )  # fmt: skip
    if found.splits:
        yield table(
            "Where a lift comes from, in points: rescued kills, and changed strategies of trials "
            "that were never killed (bounds that hold whatever the killed trials would have done)",
            (
                "band",
                "lift",
                "rescued kills",
                "95 % interval",
                "strategy",
                "95 % interval",
                "rescue, killed trials like the others",
                "rescue by replay",
            ),
            [_split_line(split) for split in found.splits.values()],
            folded=True,
        )
    if len(found.entries) > 1:
        yield _entries_table(found)
    if found.rank_changes:
        yield table(
            "Pairs whose order changes between bands, by score alone (leads in points)",
            ("pair", "leads", "in", "by", "leads", "in", "by"),
            [
                (f"{c.a} and {c.b}", c.a, c.a_leads_in, points(c.lead_of_a),
                 c.b, c.b_leads_in, points(c.lead_of_b))
                for c in found.rank_changes
            ],
            words=(1, 2, 4, 5),
        )  # fmt: skip


def _entries_table(found: Findings) -> Table:
    bands = [row.band for row in found.bands]
    places = {(rank.entry, rank.band): rank.rank for rank in found.ranks}
    return table(
        "Score of every entry by band, its place in brackets",
        ("entry", "kind", *bands),
        [_entry_line(curve, found, places) for curve in found.entries],
        words=(1,),
    )


def _entry_line(
    curve: Curve, found: Findings, places: dict[tuple[str, str], int]
) -> tuple[Cell | str, ...]:
    scores = (
        f"{percent(row.score.strict.est)} ({places[curve.entry, row.band]})"
        if row.score
        else ABSENT
        for row in curve.bands
    )
    kind = "policy" if curve.entry in found.policies else "entry"
    return (Cell(curve.entry, "name"), kind, *scores)


def _band_line(row: BandRow) -> tuple[str, ...]:
    if row.infra_rate is None or row.score is None:
        return (row.band, "0", *[ABSENT] * 7)
    rate, score = row.infra_rate, row.score
    return (
        row.band,
        f"{row.n:,}",
        f"{row.passed:,}",
        f"{row.infra_errors:,}",
        percent(rate.est),
        percents(rate.lo, rate.hi),
        percent(score.strict.est),
        percent(score.excluded.est) if score.excluded else ABSENT,
        percents(*score.bounds),
    )


def _lift_line(row: BandRow, lift: Lift) -> tuple[str, ...]:
    return (
        row.band,
        points(lift.est),
        span(lift.ci_same),
        p_text(lift.p_same),
        p_text(lift.p_holm_same),
        span(lift.ci_new),
        p_text(lift.p_new),
        p_text(lift.p_naive),
    )


def _equal_line(row: BandRow) -> tuple[str, ...]:
    equal, infra = row.equivalence, row.infra_lift
    return (
        row.band,
        p_text(equal.p_same if equal else None),
        p_text(equal.p_new if equal else None),
        _least(equal.smallest_margin_same if equal else None),
        _least(equal.smallest_margin_new if equal else None),
        points(infra.est) if infra else ABSENT,
        p_text(infra.p_same if infra else None),
    )


def _margin(found: Findings) -> str:
    margins = [row.equivalence.margin for row in found.bands if row.equivalence]
    return f"{100 * margins[0]:g}" if margins else ""


def _least(margin: float | None) -> str:
    return ABSENT if margin is None else points(margin, signed=False)


def _split_line(split: Split) -> tuple[str, ...]:
    return (
        split.band,
        points(split.lift),
        span(split.rescue),
        span(split.rescue_ci),
        span(split.strategy),
        span(split.strategy_ci),
        points(split.mar.rescue),
        ABSENT if split.replayed is None else points(split.replayed.rescue),
    )


def span(interval: Interval | None) -> str:
    """An interval of points, or a dash."""
    return f"{points(interval.lo)} to {points(interval.hi)}" if interval else ABSENT


def p_text(p: float | None) -> str:
    """A p-value as a cell of a column that is headed p."""
    return ABSENT if p is None else p_value(p).removeprefix("p = ").removeprefix("p ")
