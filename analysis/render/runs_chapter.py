"""The chapter on what the trials of one run or wave share."""

from ..shocks import RunShocks
from ..words import counted, p_value
from .chapter import Cell, Chapter, table

ALPHA = 0.05


def runs_chapter(found: RunShocks) -> Chapter:
    """Whether runs differ by more than sampling."""
    sd = 100 * max(found.sigma2_run, 0.0) ** 0.5
    return Chapter(
        anchor="runs",
        title="Do runs differ by more than luck?",
        lead=_lead(found, sd),
        tables=(
            table(
                "Spread of the scores of runs (or waves) beyond what sampling gives",
                ("runs", "entries", "chi-square", "df", "p", "times sampling", "shared SD, points"),
                [
                    (
                        Cell(f"{found.runs}", "name"),
                        f"{found.entries}",
                        f"{found.chi2:.1f}",
                        f"{found.df}",
                        p_value(found.p).removeprefix("p = ").removeprefix("p "),
                        f"{found.overdispersion:.2f}",
                        f"{sd:.1f}",
                    )
                ],
            ),
        ),
        notes=(
            "What all trials of a run share (a slow hour, a bad node) does not average out over "
            "its trials; it is a line of the noise budget.",
        ),
    )


def _lead(found: RunShocks, sd: float) -> str:
    spread = (
        f"The scores of {counted(found.runs, 'run')} vary {found.overdispersion:.2f} times as much "
        f"as sampling explains ({p_value(found.p)})"
    )
    if found.p < ALPHA:
        return f"{spread}: the trials of a run share a shock of about {sd:.1f} points."
    return f"{spread}: no shock that the trials of a run share is shown."
