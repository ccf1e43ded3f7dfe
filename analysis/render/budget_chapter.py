"""The chapter on the noise budget: of what the noise of one score is made."""

from ..budget import BudgetLine, NoiseBudget
from ..flags import Flag
from ..words import counted, listed, percent
from .chapter import ABSENT, Cell, Chapter, Figure, Table, table
from .charts_of_parts import budget_chart

SMALL = 0.005  # a share that rounds to nothing


def budget_chapter(same: NoiseBudget, new: NoiseBudget | None) -> Chapter:
    """The SD of a score by source, on the same tasks and on new ones."""
    rows = [
        {
            "source": _name(line),
            "sd": line.sd_points,
            "lo": line.ci.lo if line.ci else None,
            "hi": line.ci.hi if line.ci else None,
            "share": 100 * line.share,
        }
        for line in same.lines
    ]
    figure = Figure(
        "Standard deviation of one score by source, in points, on the same tasks; lines: 95 % "
        "intervals where there are any.",
        budget_chart(rows, [_name(line) for line in same.lines]),
    )
    tables = [_table("on the same tasks", same)]
    if new is not None:
        tables.append(_table("on new tasks", new))
    return Chapter(
        anchor="budget",
        title="Noise budget of a score",
        lead=_lead(same, new),
        figures=(figure,),
        tables=tuple(tables),
        notes=(
            "The share of a single trial's variance hides what matters for a score: sampling "
            "shrinks with every sample, the configuration does not.",
        ),
    )


def _lead(same: NoiseBudget, new: NoiseBudget | None) -> str:
    at = same.design
    design = f"{counted(at.tasks, 'task')} and {at.samples:g} " + (
        "sample" if at.samples == 1 else "samples"
    )
    parts = sorted((line for line in same.lines if line.share >= SMALL), key=lambda x: -x.share)
    mean = "one entry" if at.entries == 1 else f"{at.entries} entries together"
    whole = f"A score of {mean} over {design} of each"
    if not parts:
        return f"{whole} shows no noise on these tasks."
    shares = listed([f"{_name(line)} ({percent(line.share, 0)})" for line in parts[:3]])
    other = f"; on new tasks {new.sd_points:.1f} points" if new else ""
    return (
        f"{whole}, in a configuration that nobody matched, has a standard deviation of "
        f"{same.sd_points:.1f} points, mostly from {shares}{other}."
    )


def _name(line: BudgetLine) -> str:
    return f"{line.source}, an association" if Flag.ASSOCIATION in line.flags else line.source


def _table(where: str, budget: NoiseBudget) -> Table:
    return table(
        f"Noise budget {where}: {budget.sd_points:.2f} points in all",
        ("source", "SD, points", "95 % interval", "share of the score's variance",
         "share of a trial's variance", "flags"),
        [_line(line) for line in budget.lines],
        words=(5,),
    )  # fmt: skip


def _line(line: BudgetLine) -> tuple[Cell | str, ...]:
    return (
        Cell(line.source, "name"),
        f"{line.sd_points:.2f}",
        f"{line.ci.lo:.2f} to {line.ci.hi:.2f}" if line.ci else ABSENT,
        percent(line.share),
        ABSENT if line.trial_share is None else percent(line.trial_share, 2),
        listed([str(flag) for flag in line.flags]) or "none",
    )
