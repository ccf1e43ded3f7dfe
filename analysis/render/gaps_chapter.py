"""The chapter on gaps between entries: which are more than infrastructure and sampling explain."""

from ..credible import Verdict
from ..gaps import Gap, GapTable
from ..printable import one_line
from ..words import counted, listed, number, points
from .bands_tables import p_text, span
from .chapter import ABSENT, Cell, Chapter, Figure, Tone, table
from .charts import Rows
from .charts_of_parts import gaps_chart

MOST_ENTRIES = 16
PLACE: dict[Verdict, int] = {"NOISE": 0, "ONLY IF MATCHED": 1, "CREDIBLE": 2}
TONE: dict[Verdict, Tone] = {"NOISE": "muted", "ONLY IF MATCHED": "warn", "CREDIBLE": "good"}


def gaps_chapter(found: GapTable, policies: tuple[str, ...]) -> Chapter:
    """All pairs of entries, with three thresholds, and the groups that cannot be told apart."""
    names = [one_line(entry, 40) for entry in found.ranked]
    drawn = len(names) <= MOST_ENTRIES
    figure = Figure(
        "Score of the row's entry less that of the column's, in points. Filled: credible even if "
        "configurations were not matched; pale: only if they were; grey: not told from noise.",
        gaps_chart(_tiles(found), names),
        width=520,
    )
    return Chapter(
        anchor="gaps",
        title="Gaps between entries",
        lead=_lead(found, policies),
        figures=(figure,) if drawn else (),
        tables=(
            table(
                "Gaps in points, and what a gap must exceed: with matched configurations, with "
                "exchangeable ones, and if a submitter may have picked the best",
                ("pair", "gap", "p same", "p new", "Holm same", "matched", "exchangeable",
                 "worst case", "bounds", "verdict"),
                [_line(gap) for gap in found.pairs],
                words=(9,),
            ),
            table(
                "Tie groups: entries of which no two are told apart",
                ("group", "entries"),
                [(f"{k}", listed(group)) for k, group in enumerate(found.tie_groups, start=1)],
                words=(1,),
            ),
        ),
        notes=(
            "Bounds hold the gap whatever trials that ended in infra errors would have done. The "
            "thresholds take every factor above as unmatched between two submissions; the parts of "
            "observed factors in them are associations.",
        ),
    )  # fmt: skip


def _lead(found: GapTable, policies: tuple[str, ...]) -> str:
    credible = sum(gap.verdict == "CREDIBLE" for gap in found.pairs)
    matched = sum(gap.verdict == "ONLY IF MATCHED" for gap in found.pairs)
    rest = len(found.pairs) - credible - matched
    verb = "is" if credible == 1 else "are"
    kind = ("policies" if len(policies) == len(found.ranked) else "entries") if policies else (
        "entries"
    )  # fmt: skip
    groups = len(found.tie_groups)
    return (
        f"Of {counted(len(found.pairs), 'gap')} between {number(len(found.ranked))} {kind}, "
        f"{credible} {verb} credible whatever the configurations, {matched} only if they were "
        f"matched, and {rest} cannot be told from noise; that makes "
        f"{counted(groups, 'tie group')}."
    )


def _tiles(found: GapTable) -> Rows:
    return [
        {
            "a": one_line(a, 40),
            "b": one_line(b, 40),
            "gap": sign * 100 * gap.est,
            "label": points(sign * gap.est),
            "verdict": gap.verdict.lower(),
            "place": PLACE[gap.verdict],
        }
        for gap in found.pairs
        for a, b, sign in ((gap.a, gap.b, 1), (gap.b, gap.a, -1))
    ]


def _line(gap: Gap) -> tuple[Cell | str, ...]:
    return (
        Cell(f"{gap.a} less {gap.b}", "name"),
        points(gap.est),
        p_text(gap.p_same),
        p_text(gap.p_new),
        p_text(gap.p_holm_same),
        _threshold(gap.matched),
        _threshold(gap.exchangeable),
        _threshold(gap.worst_case),
        span(gap.bounds),
        Cell(gap.verdict.lower(), TONE[gap.verdict]),
    )


def _threshold(value: float | None) -> str:
    return ABSENT if value is None else points(value, signed=False)
