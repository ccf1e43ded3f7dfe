"""The chapters on trust: other methods, the design, and what the counts cannot give."""

from collections.abc import Mapping

from ..crosscheck import Crosscheck
from ..design_report import DesignReport
from ..words import counted, listed, percent, points
from .bands_tables import p_text
from .chapter import ABSENT, Cell, Chapter, table


def crosscheck_chapter(found: Crosscheck) -> Chapter:
    """Every lift again, by shuffled labels, by CMH and by a mixed model."""
    lifts = found.glmm.pa_lift if found.glmm else {}
    rows = [
        (
            band,
            p_text(found.permutation_p[band]),
            p_text(found.cmh[band].p),
            ABSENT if (ratio := found.cmh[band].odds_ratio) is None else f"{ratio:.2f}",
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
                ("band", "permutation p", "CMH p", "odds ratio", "mixed model, points",
                 "mixed model p", "agree"),
                rows,
                words=(6,),
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
    diagnosis, mde = found.diagnosis, found.mde
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
                "strata they vary, between how many waves, and whether they are aliased",
                ("factor", "inflation", "strata with overlap", "waves", "aliased"),
                rows,
                words=(3, 4),
            ),
        ),
        notes=()
        if mde.same is None
        else ("Detectable: found in four of five runs by a two-sided test at 5 %.",),
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
        return "set per trial"
    testable = "" if count.testable else ", too few to test"
    return f"{count.waves} of {count.wave}{testable}"
