"""Does the answer depend on the method? Each lift again, by two methods that assume other things.

The randomisation test assumes nothing of rates or distributions; the logistic mixed model assumes a
constant effect in logits and normal tasks. Where either disagrees with the primary contrast, in
sign or in the decision at 5 %, the lift is "model-dependent" and the report must say so.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ..models.errors import SampleTooSmall
from .cells import Cells
from .cmh import Cmh, cmh
from .conditional_logit import ConditionalLogit, LogOdds, conditional_logit
from .contrasts import Contrast, contrast
from .glmm import Glmm, PaLift, fit_glmm
from .pairs import Pairs, pairs
from .permutation import DRAWS, exact, permutation
from .strata import Strata, strata_by_level

ROUNDING = 1e-9  # a lift this near 0 has no sign
LARGE_CELL = 100  # trials; the exact test and the joint conditional logit cost their square
MANY_STRATA = 2_000


@dataclass(frozen=True, slots=True)
class Crosscheck:
    """The other methods' answers, by band, against the lift over `vs`.

    `exact_p` is the conditional p-value by convolution, None without information and where cells
    are so large that it would take long. `conditional` is the conditional logit of each band and
    the reference alone, None where its odds ratio would be endless; `conditional_joint` that of all
    bands together, None likewise and where cells are large.

    `agree` is True where permutation and mixed model share the primary's sign and its decision at
    alpha. `glmm` is None where it has no finite fit; `refused` then says why, and the permutation
    test alone decides `agree`. `sentences` say it in words, by band.
    """

    vs: str
    permutation_p: Mapping[str, float]
    exact_p: Mapping[str, float | None]
    cmh: Mapping[str, Cmh]
    conditional: Mapping[str, LogOdds | None]
    conditional_joint: ConditionalLogit | None
    glmm: Glmm | None
    agree: Mapping[str, bool]
    sentences: Mapping[str, str]
    refused: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One method's answer to whether a lift is there."""

    method: str
    est: float
    p: float | None

    def differs(self, other: "Answer", alpha: float) -> bool:
        """True if the signs are opposite, or one finds at `alpha` what the other does not."""
        opposite = min(self.est, other.est) < -ROUNDING and max(self.est, other.est) > ROUNDING
        return opposite or self.finds(alpha) != other.finds(alpha)

    def finds(self, alpha: float) -> bool:
        """The decision; without a p-value nothing is found."""
        return self.p is not None and self.p < alpha


def crosscheck(
    cells: Cells,
    reference: str | None = None,
    *,
    alpha: float = 0.05,
    draws: int = DRAWS,
    seed: int = 0,
) -> Crosscheck:
    """Check the same-task lift of every band over the reference.

    Args:
        cells: counts by task, entry and band, and perhaps more.
        reference: the band that lifts are taken against; the first with trials by default.
        draws, seed: of the randomisation test.
    Raises:
        DesignError: fractional rewards, no such reference, or cells without task, entry or band.
        SampleTooSmall: no trial at the reference, or no band that shares a task and entry with it.
    """
    counts = cells.by("task", "entry", "band")
    tables = {b: table for b, table in strata_by_level(counts).items() if table.run.any()}
    floor = next(iter(tables), "") if reference is None else reference
    if floor not in tables:
        counts.require_trials()
        counts.index("band", floor)
        raise SampleTooSmall(f"no trial of {floor} has an outcome yet; nothing to check against")
    bands = [b for b in tables if b != floor and _meet(tables[b], tables[floor])]
    if not bands:
        raise SampleTooSmall(f"no band shares a task and entry with {floor}; nothing to check")
    glmm, refused = _glmm(counts, floor)
    tests = {b: pairs(counts, b, floor) for b in bands}
    shuffled = {b: permutation(t, draws=draws, seed=seed) for b, t in tests.items()}
    answers = {
        b: _answers(
            contrast(tables[b], tables[floor]), shuffled[b].est, shuffled[b].p, _lift(glmm, b)
        )
        for b in bands
    }
    return Crosscheck(
        vs=floor,
        permutation_p={b: found.p for b, found in shuffled.items()},
        exact_p={b: _exact(t) for b, t in tests.items()},
        cmh={b: cmh(t) for b, t in tests.items()},
        conditional={b: _odds(counts, floor, b) for b in bands},
        conditional_joint=_joint_odds(counts, floor),
        glmm=glmm,
        agree={b: not _dissenters(a, alpha) for b, a in answers.items()},
        sentences={b: _sentence(b, floor, a, alpha) for b, a in answers.items()},
        refused=refused,
    )


def _exact(found: Pairs) -> float | None:
    large = max(found.n_a.max(), found.n_b.max()) > LARGE_CELL or found.task.size > MANY_STRATA
    return None if large else exact(found)


def _odds(cells: Cells, floor: str, band: str) -> LogOdds | None:
    try:
        return conditional_logit(cells, floor, levels=[floor, band]).levels[0]
    except SampleTooSmall:
        return None


def _joint_odds(cells: Cells, floor: str) -> ConditionalLogit | None:
    if cells.n.max() > LARGE_CELL:
        return None
    try:
        return conditional_logit(cells, floor)
    except SampleTooSmall:
        return None


def _meet(a: Strata, b: Strata) -> bool:
    return bool((a.run & b.run).any())


def _glmm(cells: Cells, floor: str) -> tuple[Glmm | None, str]:
    try:
        return fit_glmm(cells, reference=floor), ""
    except SampleTooSmall as error:
        return None, str(error)


def _lift(glmm: Glmm | None, band: str) -> PaLift | None:
    return None if glmm is None else glmm.pa_lift.get(band)


def _answers(primary: Contrast, est: float, p: float, lift: PaLift | None) -> tuple[Answer, ...]:
    """The primary's answer first, then the others'."""
    found = [Answer("contrast", primary.est, primary.p_same), Answer("permutation", est, p)]
    if lift is not None:
        found.append(Answer("mixed model", lift.est, lift.p))
    return tuple(found)


def _dissenters(answers: tuple[Answer, ...], alpha: float) -> tuple[Answer, ...]:
    primary, *others = answers
    return tuple(other for other in others if other.differs(primary, alpha))


def _sentence(band: str, floor: str, answers: tuple[Answer, ...], alpha: float) -> str:
    told = "; ".join(
        f"{a.method} {100 * a.est:+.1f} points, p {'unknown' if a.p is None else f'{a.p:.2g}'}"
        for a in answers
    )
    if dissent := _dissenters(answers, alpha):
        names = " and ".join(a.method for a in dissent)
        return f"{band} over {floor} is model-dependent: {names} disagrees ({told})."
    return f"{band} over {floor}: the methods agree ({told})."
