"""The chapter on factors: which one moves the score, by how much, and how sure."""

from collections.abc import Sequence

from ..attribution import Attribution, FactorRow
from ..effects import LevelEffect
from ..flags import Flag
from ..intervals import Interval
from ..phi import POINTS, Component
from ..printable import one_line
from ..words import counted, listed, p_value, percent, points
from .bands_tables import p_text, span
from .chapter import ABSENT, Cell, Chapter, Figure, Table, table
from .charts import Rows
from .charts_of_parts import forest_chart

ALPHA = 0.05


def factors_chapter(found: Attribution) -> Chapter:
    """Effects of every factor's levels, and the variance that each adds to a score."""
    rows = _forest(found.factors)
    observed = [row.factor for row in found.factors if row.role == "observed"]
    caption = (
        "Each level against its factor's reference, other factors held. Thick bars: 95 % "
        "interval on the same tasks; thin bars: between the units at which the level was set "
        "(tasks, or waves)."
    )
    if observed:
        caption += " Muted: observed, not assigned; an association, not an effect."
    return Chapter(
        anchor="factors",
        title="What moves the score, or goes along with it",
        lead=_lead(found),
        figures=(Figure(caption, forest_chart(rows, [r["label"] for r in rows])),) if rows else (),
        tables=(_components(found.factors), _levels(found.factors)),
        notes=_notes(found, observed),
    )


def _lead(found: Attribution) -> str:
    measured = [
        (component, row)
        for row in found.factors
        if (component := row.component) is not None and Flag.NOT_TESTABLE not in row.flags
    ]
    untested = [row for row in found.factors if Flag.NOT_TESTABLE in row.flags]
    beside = ""
    if untested:
        verb = "is" if len(untested) == 1 else "are"
        beside = f"; {listed([_waves_of(row) for row in untested])} {verb} not testable"
    if not measured:
        return f"The levels of no factor can be told apart from the tasks and each other{beside}."
    shown = [(c, row) for c, row in measured if c.phi > 0.0 and c.p is not None and c.p < ALPHA]
    if not shown:
        return f"{_nothing_shown(measured)}{beside}."
    strongest, row = max(shown, key=lambda pair: pair[0].phi)
    verb = "goes along with" if row.role == "observed" else "moves"
    most = " most" if len(measured) > 1 else ""
    among = f"Of {counted(len(measured), 'factor')}, the" if most else "The"
    label = " (observed: an association)" if row.role == "observed" else ""
    p = "" if strongest.p is None else f", {p_value(strongest.p)}"
    return (
        f"{among} {row.factor} {verb} the score{most}{label}: a standard deviation of "
        f"{strongest.sd_points:.1f} points over its levels{_sd_interval(strongest.ci)}{p}{beside}."
    )


def _nothing_shown(measured: Sequence[tuple[Component, FactorRow]]) -> str:
    """What the data do not rule out is at least as much of the finding as what they do not show."""
    bounds = [(c.ci.hi, row.factor) for c, row in measured if c.ci is not None]
    several = len(measured) > 1
    subject = "No factor is" if several else f"The {measured[0][1].factor} is not"
    told = f"{subject} shown to move the score of these tasks by more than sampling does"
    if not bounds:
        return told
    hi, factor = max(bounds)
    whose = f" of the {factor}" if several else ""
    return f"{told}; a standard deviation{whose} of up to {_root(hi):.1f} points is not ruled out"


def _waves_of(row: FactorRow) -> str:
    return f"{row.factor} ({counted(row.waves or 0, 'wave')})"


def _sd_interval(ci: Interval | None) -> str:
    if ci is None:
        return ""
    lo, hi = _root(ci.lo), _root(ci.hi)
    return f" (95 % interval {lo:.1f} to {hi:.1f})"


def _root(phi: float) -> float:
    return POINTS * float(max(phi, 0.0) ** 0.5)


def _forest(factors: Sequence[FactorRow]) -> Rows:
    several = len(factors) > 1
    return [
        {
            "label": one_line(_label(row, level.level) if several else level.level, 60),
            "est": POINTS * level.est,
            **_ends("same_", level.ci_same),
            **_ends("", level.ci),
            "role": row.role,
            "p": ABSENT if level.p is None else p_value(level.p),
        }
        for row in factors
        for level in row.levels
        if level.est is not None
    ]


def _label(row: FactorRow, level: str) -> str:
    seen = " (association)" if row.role == "observed" else ""
    return f"{row.factor}: {level}{seen}"


def _ends(prefix: str, interval: Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {f"{prefix}lo": None, f"{prefix}hi": None}
    return {f"{prefix}lo": POINTS * interval.lo, f"{prefix}hi": POINTS * interval.hi}


def _components(factors: Sequence[FactorRow]) -> Table:
    return table(
        "What each factor adds to the spread of a score, in points (root of its noise-corrected "
        "component), and its shares of the explained variance",
        ("factor", "role", "SD, these tasks", "95 % interval", "p", "SD, new tasks", "alone",
         "unique", "over orders", "flags"),
        [
            (
                Cell(row.factor, "name"),
                _role(row),
                *_component_cells(row.component),
                f"{row.component_new.sd_points:.1f}" if row.component_new else ABSENT,
                ABSENT if row.alone is None else percent(row.alone, 2),
                ABSENT if row.unique is None else percent(row.unique, 2),
                ABSENT if row.lmg is None else percent(row.lmg, 2),
                listed([str(flag) for flag in row.flags]) or "none",
            )
            for row in factors
        ],
        words=(1, 9),
    )  # fmt: skip


def _component_cells(found: Component | None) -> tuple[str, str, str]:
    if found is None:
        return ABSENT, ABSENT, ABSENT
    interval = f"{_root(found.ci.lo):.1f} to {_root(found.ci.hi):.1f}" if found.ci else ABSENT
    return f"{found.sd_points:.1f}", interval, p_text(found.p)


def _role(row: FactorRow) -> str:
    if row.role == "observed":
        return "observed: association"
    waves = f" ({counted(row.waves, 'wave')})" if row.waves is not None else ""
    return f"assigned per {row.assignment}{waves}"


def _kind(row: FactorRow) -> str:
    return "association" if row.role == "observed" else "assigned"


def _levels(factors: Sequence[FactorRow]) -> Table:
    return table(
        "Each level against its reference, other factors held, in points; the second p is between "
        "the units at which a level was set, Holm over the levels of its factor in the third",
        ("factor", "role", "level", "against", "difference", "same tasks", "p", "between units",
         "p", "Holm"),
        [
            (Cell(row.factor, "name"), _kind(row), level.level, row.reference, *_level_cells(level))
            for row in factors
            for level in row.levels
        ],
        words=(1, 2, 3),
        folded=len(factors) == 1,
    )  # fmt: skip


def _level_cells(level: LevelEffect) -> tuple[str, ...]:
    return (
        ABSENT if level.est is None else points(level.est),
        span(level.ci_same),
        p_text(level.p_same),
        span(level.ci),
        p_text(level.p),
        p_text(level.p_holm),
    )


def _notes(found: Attribution, observed: Sequence[str]) -> tuple[str, ...]:
    notes = [
        f"One linear model within {counted(found.strata, 'stratum', 'strata')} of task and entry, "
        f"on {counted(found.trials, 'trial')}; noise is subtracted, so that a component may be 0."
    ]
    if observed:
        verb = "was" if len(observed) == 1 else "were"
        notes.append(
            f"{listed(observed)} {verb} observed, not assigned: what goes along with the score, "
            "which need not be what moves it."
        )
    if any(Flag.CONFOUNDED in row.flags for row in found.factors):
        notes.append(
            "Confounded: the factor explains much more or much less alone than beside the others."
        )
    return tuple(notes)
