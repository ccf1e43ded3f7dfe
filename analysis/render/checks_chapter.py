"""The chapters on trust: other methods, the design, and what the counts cannot give."""

from collections.abc import Mapping, Sequence

from ..balance import Balance, imbalanced
from ..crosscheck import Crosscheck
from ..design_report import DesignReport
from ..words import counted, listed, percent, points
from .bands_tables import p_text
from .chapter import ABSENT, Cell, Chapter, Table, table


def crosscheck_chapter(found: Crosscheck) -> Chapter:
    """Every lift again, by shuffled labels, by CMH, conditional logit and a mixed model."""
    lifts = found.glmm.pa_lift if found.glmm else {}
    rows = [
        (
            band,
            p_text(found.permutation_p[band]),
            p_text(found.exact_p[band]),
            p_text(found.cmh[band].p),
            ABSENT if (ratio := found.cmh[band].odds_ratio) is None else f"{ratio:.2f}",
            ABSENT if (odds := found.conditional[band]) is None else f"{odds.odds_ratio:.2f}",
            ABSENT if odds is None else p_text(odds.p),
            points(lifts[band].est) if band in lifts else ABSENT,
            p_text(lifts[band].p) if band in lifts else ABSENT,
            Cell("yes", "good") if agree else Cell("no: depends on the method", "bad"),
        )
        for band, agree in found.agree.items()
    ]
    return Chapter(
        anchor="crosscheck",
        title="Do other methods agree?",
        lead=_crosscheck_lead(found),
        tables=(
            table(
                f"Lift over {found.vs} by methods that assume other things",
                ("band", "permutation p", "exact p", "CMH p", "odds ratio (MH)",
                 "odds ratio (conditional)", "conditional p", "mixed model, points",
                 "mixed model p", "agree"),
                rows,
                words=(9,),
            ),
        ),
        notes=(f"No mixed model: {found.refused}",) if found.refused else (),
    )  # fmt: skip


def _crosscheck_lead(found: Crosscheck) -> str:
    dissent = [band for band, agree in found.agree.items() if not agree]
    methods = "the permutation test and the mixed model agree" if found.glmm else (
        "the permutation test agrees"
    )  # fmt: skip
    told = f"{methods} with the contrasts above, in sign and in the decision at 5 %"
    if not dissent:
        return f"In every band {told}."
    if len(dissent) == len(found.agree):
        return "In no band do all methods agree in sign and in the decision at 5 %."
    return f"In {listed(dissent)} the answer depends on the method; elsewhere {told}."


def design_chapter(found: DesignReport) -> Chapter:
    """What the design can tell apart, and the smallest effect it can see."""
    diagnosis = found.diagnosis
    factors = list(diagnosis.gvif)
    rows = [
        (
            Cell(name, "name"),
            ABSENT if (inflation := diagnosis.gvif[name]) is None else f"{inflation:.2f}",
            percent(diagnosis.overlap_by_factor[name], 0),
            _waves(found, name),
            Cell("yes", "bad") if name in diagnosis.aliased else "no",
        )
        for name in factors
    ]
    return Chapter(
        anchor="design",
        title="What this design can see",
        lead=_design_lead(found),
        tables=(
            table(
                "Factors: how many times wider confounding makes their intervals, in how many "
                "strata they vary, how they were set, and whether they are aliased",
                ("factor", "inflation", "strata with overlap", "set", "aliased"),
                rows,
                words=(3, 4),
            ),
            *((_balance_table(found.balance),) if found.balance else ()),
        ),
        notes=_design_notes(found),
    )


def _balance_table(rows: Sequence[Balance]) -> Table:
    """Each assigned factor beside each other one."""
    return table(
        "Balance: is an assigned factor spread over the others as shuffling its labels within task "
        "and entry would have it? (largest difference of a share in percent)",
        ("assigned", "beside", "chi-square", "df", "p", "p (Holm)", "largest difference"),
        [
            (
                Cell(row.factor, "name"),
                row.beside,
                f"{row.stat:.1f}",
                f"{row.df}",
                p_text(row.p),
                p_text(row.p_holm),
                percent(row.largest_gap),
            )
            for row in rows
        ],
        words=(1,),
    )


def _design_notes(found: DesignReport) -> tuple[str, ...]:
    notes = []
    if found.mde.same is not None:
        notes.append("Detectable: found in four of five runs by a two-sided test at 5 %.")
    if found.balance:
        notes.append(_balance_note(found.balance))
    return tuple(notes)


def _balance_note(rows: Sequence[Balance]) -> str:
    uneven = imbalanced(rows)
    if not uneven:
        return (
            "Balance: no assigned factor goes together with another one by more than chance (5 %, "
            "Holm)."
        )
    told = listed([f"{row.factor} with {row.beside} (p {p_text(row.p_holm)})" for row in uneven])
    return (
        f"Not balanced: {told} by more than shuffling explains. Either it was not assigned at "
        "random within tasks, or it changes the other; the model holds them apart, a plain "
        "comparison does not."
    )


def refused_chapter(refused: Mapping[str, str]) -> Chapter:
    """Parts that these counts cannot give, and why."""
    verb = "part of the analysis is" if len(refused) == 1 else "parts of the analysis are"
    return Chapter(
        anchor="refused",
        title="What these trials cannot tell",
        lead=f"{len(refused)} {verb} refused rather than guessed.",
        tables=(table("Refused, and why", ("part", "reason"), list(refused.items()), words=(1,)),),
    )


def _design_lead(found: DesignReport) -> str:
    mde, aliased = found.mde, found.diagnosis.aliased
    told = (
        "Every factor can be told apart from the others"
        if not aliased
        else f"{listed(aliased)} cannot be told apart from other factors or from the tasks"
    )
    if mde.same is None:
        return f"{told}; no cell shows noise of its own, so no detectable effect can be told."
    other = f", or {points(mde.new, signed=False)} on new tasks" if mde.new is not None else ""
    size = f"{counted(mde.tasks, 'task')}, {counted(mde.entries, 'entry', 'entries')}"
    return (
        f"{told}; with {size} and {mde.samples:g} samples the smallest detectable lift is "
        f"{points(mde.same, signed=False)} points on these tasks{other}."
    )


def _waves(found: DesignReport, factor: str) -> str:
    count = found.diagnosis.waves.get(factor)
    if count is None:
        return "observed" if factor in found.observed else "set per trial"
    testable = "" if count.testable else ", too few to test"
    return f"{count.waves} of {count.wave}{testable}"
