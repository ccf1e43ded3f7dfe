"""What imported results do not record: the head of every report on them, in terminal and page."""

from collections.abc import Sequence

from rich.text import Text

from ...models.source import Source, Unrecorded
from ..printable import one_line
from ..words import counted, listed
from .chapter import Cell, Chapter, table

MOST_FAULTS = 3


def unrecorded_text(sources: Sequence[Source], *, faults: bool = True) -> Text:
    """Source by source, what it lacks and why that matters, for a terminal; and, unless somebody
    else tells them, the first `faults` on the way in."""
    told = Text()
    for source in sources:
        told.append(f"{_head(source)} Not recorded there:\n", style="bold")
        for lack in source.unrecorded:
            told.append(f"  {_who(lack)}: ", style="bold yellow")
            told.append(f"{one_line(lack.why)}\n")
        for fault in _faults(source) if faults else ():
            told.append("  not taken: ", style="bold red")
            told.append(f"{fault}\n")
    told.rstrip()
    return told


def unrecorded_lines(sources: Sequence[Source]) -> tuple[str, ...]:
    """Source by source, what it lacks in one sentence: the first words of a page."""
    return tuple(
        f"Not recorded by {one_line(source.harness, 60)}: "
        f"{'; '.join(map(_touched, source.unrecorded))}."
        for source in sources
        if source.unrecorded
    )


def unrecorded_chapter(sources: Sequence[Source]) -> Chapter:
    """The same as a chapter, with how endings were read and whose totals are met."""
    tables = [
        table(
            f"Not recorded by {one_line(source.harness, 60)}",
            ("what", "trials", "why it matters"),
            [(Cell(one_line(lack.what), "name"), _count(lack), one_line(lack.why))
             for lack in source.unrecorded],
            words=(2,),
        )
        for source in sources
    ]  # fmt: skip
    for source in sources:
        rows = [
            (
                Cell(one_line(m.mode) or "nothing unusual", "name"),
                m.judged,
                f"{m.attempts:,}",
                f"{m.passed:,}",
                f"{m.unjudged:,}",
            )
            for m in source.modes
        ]
        heading = ("the source says", "read as", "attempts", "passed", "no verdict")
        tables.append(table("How its endings are read", heading, rows, words=(1,), folded=True))
    return Chapter(
        anchor="unrecorded",
        title="What the source does not record",
        lead=" ".join(_head(source) for source in sources),
        tables=tuple(tables),
        notes=(
            *(f"Not taken: {fault}." for source in sources for fault in _faults(source)),
            *(_totals(source) for source in sources if source.totals),
        ),
    )


def _head(source: Source) -> str:
    faults = f", {counted(len(source.faults), 'fault')} on the way" if source.faults else ""
    return (
        f"Imported from {one_line(source.kind)} ({one_line(source.harness, 60)}): "
        f"{counted(source.trials, 'trial')}{faults}."
    )


def _faults(source: Source) -> list[str]:
    """The first files and trials that did not go in, and how many more there are."""
    told = [one_line(fault) for fault in source.faults[:MOST_FAULTS]]
    more = len(source.faults) - len(told)
    return [*told, *([f"{more} more"] if more else [])]


def _who(lack: Unrecorded) -> str:
    touched = "" if lack.trials is None else f", {counted(lack.trials, 'trial')}"
    return f"{one_line(lack.what)}{touched}"


def _touched(lack: Unrecorded) -> str:
    what = one_line(lack.what)
    return what if lack.trials is None else f"{what} ({counted(lack.trials, 'trial')})"


def _count(lack: Unrecorded) -> str:
    return "all" if lack.trials is None else f"{lack.trials:,}"


def _totals(source: Source) -> str:
    stated = [t for t in source.totals if t.theirs is not None]
    differing = [
        f"{one_line(t.what)}: {t.theirs:g} there, {t.ours:g} here" for t in stated if not t.agrees
    ]
    met = f"{len(stated) - len(differing)} of {len(stated)} of its own totals are met"
    if silent := len(source.totals) - len(stated):
        met += f", {silent} more are not stated"
    shown = listed(differing[:5]) + (f" and {len(differing) - 5} more" if differing[5:] else "")
    return f"{met}; these differ: {shown}." if differing else f"{met}."
