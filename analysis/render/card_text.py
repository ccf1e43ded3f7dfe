"""What a card leaves unstated, and two cards side by side, in a terminal."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..card_check import Lack, Match
from ..configuration import ItemCompared
from ..printable import one_line, printable
from ..words import counted
from .comparison_text import COLOURS

MATCHES = {"matched": "green", "not matched": "red", "not known to match": "yellow"}


def lacks_text(found: Sequence[Lack]) -> RenderableType:
    """What is left unstated, and why a reader needs it."""
    if not found:
        return Text("Nothing is left unstated.", style="bold green")
    told = Text(f"{counted(len(found), 'item')} left unstated:\n", style="bold yellow")
    for lack in found:
        told.append(f"  {one_line(lack.what)}: ", style="bold")
        told.append(f"{one_line(lack.why)}\n", style="not bold default")
    told.rstrip()
    return told


def differences_text(
    items: Sequence[ItemCompared], names: tuple[str, str], match: Match
) -> RenderableType:
    """Two configurations, item by item, and whether scores under them compare as they stand."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("configuration", *names, ""):
        table.add_column(Text(one_line(name, 40)))
    for row in items:
        table.add_row(
            row.item,
            Text(one_line(row.a, 60)),
            Text(one_line(row.b, 60)),
            Text(row.state, style=COLOURS[row.state] if row.decides else "dim"),
        )
    said = Text(printable(f"The two are {match}."), style=f"bold {MATCHES[match]}")
    return Group(said, table)
