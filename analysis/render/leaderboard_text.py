"""A leaderboard in a terminal."""

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...models.source import Source
from ..leaderboard import Leaderboard, Row
from ..printable import one_line, printable
from .unrecorded import unrecorded_text

TO = "\N{EN DASH}"
HEADINGS = ("place", "tied", "entry", "score %", "excluded", "bounds", "infra %", "trials")
WORDS = ("tied", "entry")


def leaderboard_text(found: Leaderboard, sources: tuple[Source, ...] = ()) -> RenderableType:
    """Rows with place ranges and tie groups, and the sentence on neighbours."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in HEADINGS:
        words = name in WORDS
        table.add_column(
            name,
            justify="left" if words else "right",
            no_wrap=name != "entry",
            overflow="fold",
        )
    for row in found.rows:
        table.add_row(*_cells(row))
    within = (
        f"Compared within the same band: {', '.join(one_line(band, 40) for band in found.bands)}."
        if found.bands
        else "Entries ran different bands; their bands are merged, so a band may decide a place."
    )
    parts: list[RenderableType] = [
        *([unrecorded_text(sources)] if sources else []),
        Group(Text("Rows that share a letter cannot be told apart", style="bold"), table),
        Text(printable(f"{found.sentence}\n{within}")),
    ]
    return Group(*(Padding(part, (0, 0, 1, 0)) for part in parts))


def _cells(row: Row) -> list[str | Text]:
    score, rate = row.score, row.infra_rate
    place = f"{row.best}" if row.best == row.worst else f"{row.best}{TO}{row.worst}"
    return [
        place,
        row.groups,
        Text(one_line(row.entry, 48)),
        f"{100 * score.strict.est:.1f}",
        f"{100 * score.excluded.est:.1f}" if score.excluded else "-",
        f"{100 * score.bounds.lo:.1f}{TO}{100 * score.bounds.hi:.1f}",
        f"{100 * rate.est:.1f}",
        f"{row.n:,}",
    ]
