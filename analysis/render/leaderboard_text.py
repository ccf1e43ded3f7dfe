"""A leaderboard in a terminal."""

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...models.source import Source
from ..configuration import is_matched, match_words
from ..leaderboard import Leaderboard, Row
from ..printable import one_line, printable
from ..sources_alike import alike
from .unrecorded import unrecorded_text

TO = "\N{EN DASH}"
HEADINGS = ("place", "tied", "entry", "score %", "excluded", "bounds", "infra %", "trials")
WORDS = ("tied", "entry")


def leaderboard_text(found: Leaderboard, sources: tuple[Source, ...] = ()) -> RenderableType:
    """Rows with place ranges and tie groups, and the sentence on neighbours."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    uneven = len({row.tasks for row in found.rows}) > 1
    for name in (*HEADINGS, *(["tasks"] if uneven else [])):
        words = name in WORDS
        table.add_column(
            name,
            justify="left" if words else "right",
            no_wrap=name != "entry",
            overflow="fold",
        )
    for row in found.rows:
        table.add_row(*_cells(row), *([f"{row.tasks:,}"] if uneven else []))
    within = (
        f"Compared within the same band: {', '.join(one_line(band, 40) for band in found.bands)}."
        if found.bands
        else "Entries ran different bands; their bands are merged, so a band may decide a place."
    )
    parts: list[RenderableType] = [
        *([unrecorded_text(alike(sources))] if sources else []),
        Group(Text("Rows that share a letter cannot be told apart", style="bold"), table),
        Text(printable("\n".join([found.sentence, within, *_unmatched(found, uneven=uneven)]))),
    ]
    return Group(*(Padding(part, (0, 0, 1, 0)) for part in parts))


def _unmatched(found: Leaderboard, *, uneven: bool) -> list[str]:
    """What the places take for granted."""
    told = []
    if uneven:
        told.append("Not all ran the same tasks; two entries are compared on those that both ran.")
    if found.noise_known:
        told.append("Places allow for what unmatched configurations were measured to be worth.")
    elif not is_matched(found.settings):
        told.append(
            f"The entries' configurations {match_words(found.settings, matched=False)}. Places are "
            "told as if they matched: more may be tied. What that is worth, an experiment that "
            "varied them tells (--noise-from)."
        )
    return told


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
