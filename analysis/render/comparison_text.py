"""A comparison in a terminal: what imported sides do not record, the verdict, what differs."""

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...models.source import Source
from ..comparison import Comparison, SideScored
from ..comparison_words import (
    gate_sentence,
    missing_sentence,
    p_values,
    settling_sentence,
    threshold_sentence,
    twice_sentence,
    verdict_sentence,
)
from ..printable import one_line, printable
from ..words import counted
from .unrecorded import unrecorded_text

COLOURS = {
    "CREDIBLE": "green",
    "NOISE": "yellow",
    "ONLY IF MATCHED": "yellow",
    "UNKNOWN": "yellow",
    "GO": "green",
    "NO-GO": "red",
    "INCONCLUSIVE": "yellow",
    "same": "green",
    "differs": "red",
    "unrecorded": "yellow",
}


def comparison_text(found: Comparison, sources: tuple[Source, ...] = ()) -> RenderableType:
    """Everything that `compare` prints."""
    parts: list[RenderableType] = [
        *([unrecorded_text(sources)] if sources else []),
        Text(printable(verdict_sentence(found)), style=f"bold {COLOURS[found.credibility.word]}"),
        _scores(found),
        Text("\n".join(printable(line) for line in _lines(found))),
        _settings(found),
    ]
    if found.gate is not None:
        style = f"bold {COLOURS[found.gate.decision]}"
        parts.append(Text(printable(gate_sentence(found)), style=style))
    return Group(*(Padding(part, (0, 0, 1, 0)) for part in parts))


def _lines(found: Comparison) -> list[str]:
    lines = [
        threshold_sentence(found),
        missing_sentence(found),
        settling_sentence(found),
    ]
    if found.difference.p_same is not None:
        lines.insert(0, f"No difference at all: {p_values(found)}.")
    alone = [
        f"{counted(len(tasks), 'task')} of {one_line(side.name, 40)} alone"
        for side, tasks in ((found.a, found.only_a), (found.b, found.only_b))
        if tasks
    ]
    if alone:
        lines.append(f"Left out: {' and '.join(alone)}.")
    unended = [
        f"{counted(side.unended, 'trial')} of {one_line(side.name, 40)}"
        for side in (found.a, found.b)
        if side.unended
    ]
    if unended:
        lines.append(f"Without an outcome, and not counted: {' and '.join(unended)}.")
    return [*lines, *filter(None, [twice_sentence(found)])]


def _scores(found: Comparison) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(("", "trials", "infra %", "score %", "excluded %", "bounds %")):
        table.add_column(name, justify="right" if place else "left")
    for side in (found.a, found.b):
        table.add_row(*_row(side))
    return table


def _row(side: SideScored) -> list[str | Text]:
    score = side.score
    return [
        Text(one_line(side.name, 40)),
        f"{side.n:,}",
        f"{100 * side.infra_rate.est:.1f}",
        f"{100 * score.strict.est:.1f}",
        f"{100 * score.excluded.est:.1f}" if score.excluded else "-",
        f"{100 * score.bounds.lo:.1f}\N{EN DASH}{100 * score.bounds.hi:.1f}",
    ]


def _settings(found: Comparison) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("configuration", one_line(found.a.name, 30), one_line(found.b.name, 30), ""):
        table.add_column(Text(name))
    for row in found.settings:
        table.add_row(
            row.item,
            Text(one_line(row.a, 60)),
            Text(one_line(row.b, 60)),
            Text(row.state, style=COLOURS[row.state] if row.decides else "dim"),
        )
    return Group(Text("What differs between the two", style="bold"), table)
