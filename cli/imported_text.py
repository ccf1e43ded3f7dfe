"""What an import prints: what the source does not record first, then what came of it."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..analysis.json_values import Json, json_value
from ..analysis.printable import one_line
from ..analysis.render.unrecorded import unrecorded_text
from ..analysis.words import counted, listed
from ..importers.bring import Brought
from ..models.source import ModeCount, Total

MOST_LINES = 12


def imported_json(brought: Brought, name: str, where: str | None) -> dict[str, Json]:
    """The import as JSON; `store` is null of a dry run."""
    return {
        "experiment": name,
        "store": where,
        "trials": brought.trials,
        "new": brought.adopted.new,
        "known": brought.adopted.known,
        "conflicts": list(brought.adopted.conflicts),
        "tasks": brought.tasks,
        "entries": list(brought.entries),
        "bands": list(brought.bands),
        "runs": brought.runs,
        "faults": [str(fault) for fault in brought.faults],
        "source": json_value(brought.source),
    }


def imported_text(brought: Brought, name: str, where: str | None) -> RenderableType:
    """The import as text for a terminal."""
    source = brought.source
    parts: list[RenderableType] = [
        unrecorded_text([source], faults=False),
        *([_modes_table(source.modes)] if source.modes else []),
        *([_totals_table(source.totals)] if source.totals else []),
        *_faults(brought),
        _summary(brought, name, where),
    ]
    return Group(*(Padding(part, (0, 0, 1, 0)) for part in parts))


def _modes_table(modes: Sequence[ModeCount]) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("the source says")
    table.add_column("read as")
    for name in ("attempts", "passed", "no verdict"):
        table.add_column(name, justify="right")
    for mode in modes[:MOST_LINES]:
        table.add_row(
            Text(one_line(mode.mode, 60) or "(nothing unusual)"),
            mode.judged.replace("_", " "),
            *(f"{count:,}" for count in (mode.attempts, mode.passed, mode.unjudged)),
        )
    more = f"; the first {MOST_LINES} of {len(modes)}" if len(modes) > MOST_LINES else ""
    head = Text(f"How its endings are read{more}", style="bold")
    if not any(mode.unjudged for mode in modes):
        return Group(head, table)
    note = "What has no verdict is no failure of the model: it counts as an infra error."
    return Group(head, table, Text(note))


def _totals_table(totals: Sequence[Total]) -> RenderableType:
    stated = [total for total in totals if total.theirs is not None]
    agreeing, silent = sum(total.agrees for total in stated), len(totals) - len(stated)
    differing = [total for total in totals if not total.agrees]
    head = f"Its own totals: {agreeing} of {len(stated)} are met"
    head += f", {silent} more are not stated" if silent else ""
    if not differing:
        return Text(head, style="bold")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("", "theirs", "ours", "why"):
        table.add_column(name, justify="left" if name in ("", "why") else "right")
    for total in differing[:MOST_LINES]:
        theirs = "not stated" if total.theirs is None else f"{total.theirs:,g}"
        table.add_row(
            Text(one_line(total.what, 70)), theirs, f"{total.ours:,g}", Text(one_line(total.note))
        )
    return Group(Text(head, style="bold"), table)


def _faults(brought: Brought) -> list[RenderableType]:
    lines = [str(fault) for fault in brought.faults]
    lines += [f"{one}: came again with other contents; the first counts"
              for one in brought.adopted.conflicts]  # fmt: skip
    if not lines:
        return []
    rest = "everything else went in" if brought.trials else "nothing went in"
    told = Text(f"{counted(len(lines), 'fault')}; {rest}\n", style="bold red")
    told.append("\n".join(f"  {one_line(line)}" for line in lines[:MOST_LINES]), style="not bold")
    if len(lines) > MOST_LINES:
        told.append(f"\n  and {len(lines) - MOST_LINES} more", style="not bold")
    return [told]


def _summary(brought: Brought, name: str, where: str | None) -> RenderableType:
    told = (
        f"{counted(brought.trials, 'trial')} of {counted(brought.tasks, 'task')}, "
        f"{counted(len(brought.entries), 'entry', 'entries')}, "
        f"{counted(brought.runs, 'run')}, configured as "
        f"{listed([one_line(band, 40) for band in brought.bands]) or 'nobody knows'}"
    )
    if where is None:
        return Text(f"{told}. A dry run: nothing was written.")
    if not brought.trials:
        return Text("No ledger was written.")
    adopted = brought.adopted
    text = Text(f"{told}: {adopted.new:,} new, {adopted.known:,} known already or told twice.\n")
    if not adopted.new and not adopted.conflicts:
        text.append(
            "What was known keeps the entry, the band and the reading of endings that it came in "
            "with; to have others import it under another --name.\n"
        )
    text.append(f"experiment {name} in {where}", style="bold")
    return text
