"""The chapter on the ceiling to pin."""

from ..calibrate import Calibration, Ceiling
from ..printable import one_line
from ..words import listed, percent, points
from .bands_tables import p_text
from .chapter import ABSENT, Cell, Chapter, Figure, table
from .charts_of_parts import ceiling_chart


def ceiling_chapter(found: Calibration) -> Chapter:
    """Which ceiling cuts infra errors and provably leaves the score alone, and what each showed."""
    rows = [
        {
            "band": one_line(ceiling.band),
            "smallest": 100 * ceiling.smallest_margin,
            "verdict": _verdict(ceiling),
        }
        for ceiling in found.per_ceiling
        if ceiling.smallest_margin is not None
    ]
    order = [one_line(ceiling.band) for ceiling in found.per_ceiling]
    figure = Figure(
        f"Smallest margin around the score of {found.floor} within which each ceiling is shown to "
        f"lie, in points; dashed: the margin asked for, {100 * found.margin:g}.",
        ceiling_chart(rows, order, 100 * found.margin),
    )
    return Chapter(
        anchor="ceiling",
        title="Which ceiling to pin",
        lead=_lead(found),
        figures=(figure,) if rows else (),
        tables=(
            table(
                "Every ceiling: are errors cut, is the score shown to be equal, what is missing",
                ("ceiling", "infra errors", "lift", "errors cut, p", "equal, p", "equal within",
                 "verdict", "further trials", "in the way"),
                [_line(ceiling) for ceiling in found.per_ceiling],
                words=(6, 8),
            ),
        ),
        notes=(f"Rule: the {found.rule}. Both are tested in fixed sequences, each at 5 %.",),
    )  # fmt: skip


def _lead(found: Calibration) -> str:
    margin = f"{100 * found.margin:g} points"
    if found.chosen is not None:
        return (
            f"Pin {found.chosen}: it is the smallest ceiling that is shown both to cut infra "
            f"errors below {found.rho:g} times those of {found.floor} and to leave the score "
            f"within {margin}."
        )
    cut = [ceiling.band for ceiling in found.per_ceiling if ceiling.cuts_errors]
    errors = (
        f"{listed(cut)} {'cuts' if len(cut) == 1 else 'cut'} infra errors below {found.rho:g} "
        f"times those of {found.floor}"
        if cut
        else "No band is shown to cut infra errors below "
        f"{found.rho:g} times those of {found.floor}"
    )
    nearest = [c.smallest_margin for c in found.per_ceiling if c.smallest_margin is not None]
    proof = (
        f"the smallest margin that any ceiling shows is {points(min(nearest), signed=False)} points"
        if nearest
        else "no ceiling shows any margin"
    )
    return (
        f"No ceiling qualifies yet. {errors}, but none that does is also shown to leave the score "
        f"within {margin}; {proof}."
        if cut
        else f"No ceiling qualifies yet. {errors}; {proof}."
    )


def _line(ceiling: Ceiling) -> tuple[Cell | str, ...]:
    least = ceiling.smallest_margin
    return (
        ceiling.band,
        percent(ceiling.infra_rate),
        points(ceiling.lift),
        p_text(ceiling.cuts_errors_p),
        p_text(ceiling.equivalent_p),
        ABSENT if least is None else points(least, signed=False),
        Cell(_verdict(ceiling), "good" if ceiling.cuts_errors and ceiling.equivalent else ""),
        ABSENT if ceiling.needed_trials is None else f"{ceiling.needed_trials:,}",
        ceiling.obstacle or ("too few trials" if ceiling.needed_trials else "nothing"),
    )


def _verdict(ceiling: Ceiling) -> str:
    parts = ["errors cut"] if ceiling.cuts_errors else []
    parts += ["score equal"] if ceiling.equivalent else []
    return listed(parts) or "neither shown"
