"""The chapter on entries by bands: do entries answer alike, and does their order hold?"""

from collections.abc import Sequence

from ..heterogeneity import Difference, Heterogeneity, RankFlip
from ..printable import one_line
from ..words import listed, p_value, percent, points
from .bands_tables import p_text, span
from .chapter import ABSENT, Cell, Chapter, Figure, Table, table
from .charts import Rows
from .charts_of_parts import forest_chart

ALPHA = 0.05
MOST_DRAWN = 24
LIKELY = 0.05  # a flip that fewer resamples show is not worth a sentence


def entries_chapter(found: Heterogeneity) -> Chapter:
    """Differences of lifts between entries, and how often their order differs between bands."""
    rows = _forest(found.differences)
    drawn = len(rows) <= MOST_DRAWN
    figure = Figure(
        "Lift of the first entry less that of the second, by band. Thick bars: 95 % interval on "
        "the same tasks; thin bars: on new tasks.",
        forest_chart(rows, [str(row["label"]) for row in rows]),
    )
    return Chapter(
        anchor="entries",
        title="Do entries answer alike to headroom?",
        lead=_lead(found),
        figures=(figure,) if rows and drawn else (),
        tables=tuple(_tables(found, folded=not drawn)),
        notes=(
            "Holm over the pairs of entries at one band. The order of two entries differs between "
            "two bands where resampled sets of tasks give gaps of opposite signs; with gaps near 0 "
            "that is often luck.",
        ),
    )


def _lead(found: Heterogeneity) -> str:
    return f"{_differences_told(found.differences)}{_flips_told(found.flips)}."


def _differences_told(rows: Sequence[Difference]) -> str:
    tested = [row for row in rows if row.p_holm_same is not None]
    if not tested:
        return "Whether entries answer alike to a band cannot be tested here"
    shown = [row for row in tested if row.p_holm_same is not None and row.p_holm_same < ALPHA]
    widest = max(shown or tested, key=lambda row: abs(row.lift.est))
    most = (
        f"{widest.a} less {widest.b} from {widest.vs} to {widest.band}: "
        f"{points(widest.lift.est)} points"
    )
    holm = "" if widest.p_holm_same is None else f", Holm {p_value(widest.p_holm_same)}"
    if not shown:
        return (
            "No pair of entries is shown to answer differently to a band on these tasks; the "
            f"largest difference of lifts is {most}{holm}"
        )
    verb = "is" if len(shown) == 1 else "are"
    return (
        f"{len(shown)} of {len(tested)} differences of lifts between entries {verb} shown on these "
        f"tasks, the largest {most}{holm}"
    )


def _flips_told(rows: Sequence[RankFlip]) -> str:
    known = [(row.probability, row) for row in rows if row.probability is not None]
    if not known:
        return ""
    probability, row = max(known, key=lambda pair: pair[0])
    if probability < LIKELY:
        return "; the order of every pair holds across bands in 95 % of resampled task sets or more"
    return (
        f"; the order of {row.a} and {row.b} differs most often, between {row.bands[0]} and "
        f"{row.bands[1]} in {percent(probability, 0)} of resampled task sets"
    )


def _forest(rows: Sequence[Difference]) -> Rows:
    return [
        {
            "label": one_line(f"{row.a} less {row.b}: {row.band}", 60),
            "est": 100 * row.lift.est,
            "same_lo": 100 * row.lift.ci_same.lo if row.lift.ci_same else None,
            "same_hi": 100 * row.lift.ci_same.hi if row.lift.ci_same else None,
            "lo": 100 * row.lift.ci_new.lo if row.lift.ci_new else None,
            "hi": 100 * row.lift.ci_new.hi if row.lift.ci_new else None,
            "role": "assigned",
            "p": ABSENT if row.p_holm_same is None else p_value(row.p_holm_same),
        }
        for row in rows
    ]


def _tables(found: Heterogeneity, *, folded: bool) -> list[Table]:
    tables = []
    if found.differences:
        tables.append(
            table(
                "Difference of lifts, in points",
                ("entries", "band", "against", "difference", "same tasks", "p (Holm)", "new tasks",
                 "p (Holm)"),
                [
                    (Cell(f"{row.a} less {row.b}", "name"), row.band, row.vs, points(row.lift.est),
                     span(row.lift.ci_same), p_text(row.p_holm_same), span(row.lift.ci_new),
                     p_text(row.p_holm_new))
                    for row in found.differences
                ],
                words=(1, 2),
                folded=folded,
            )
        )  # fmt: skip
    if found.flips:
        tables.append(
            table(
                "How often the order of two entries differs between two bands",
                ("entries", "bands", "gap in the first", "gap in the second", "order differs"),
                [
                    (Cell(f"{row.a} and {row.b}", "name"), listed(row.bands), points(row.gaps[0]),
                     points(row.gaps[1]),
                     ABSENT if row.probability is None else percent(row.probability, 0))
                    for row in found.flips
                ],
                words=(1,),
                folded=True,
            )
        )  # fmt: skip
    return tables
