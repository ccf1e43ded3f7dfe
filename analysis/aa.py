"""A/A: does the instrument see a difference where there is none?

Two arms of one band are identical by construction, so every test between them must be silent. The
arms are compared in score and in infra errors, over all trials and within every level of every
other factor; repeated runs must not differ by more than sampling. The instrument passes when no
test raises an alarm after Holm's correction over all of them, which 95 % of sound instruments do.

Source: Kohavi, Tang & Xu (2020), Trustworthy Online Controlled Experiments, chapter 19.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..models.errors import DesignError, SampleTooSmall
from .cells import Cells
from .contrasts import contrast
from .multiplicity import holm
from .shocks import RunShocks, run_shocks
from .strata import Measure, strata_by_level

OVERDISPERSION = "overdispersion of runs"


@dataclass(frozen=True, slots=True)
class ArmTest:
    """One comparison of the arms; est is a difference of fractions, None for overdispersion.

    `false_alarm` is p below alpha by itself, `alarm` after Holm over all tests.
    """

    what: str
    est: float | None
    p: float | None
    p_holm: float | None
    false_alarm: bool
    alarm: bool


@dataclass(frozen=True, slots=True)
class AaResult:
    """What an A/A run says of the instrument.

    `false_alarm_rate` is the share of tests with p below alpha, expected near alpha. Tests without
    any spread to judge by count as silent.
    """

    arms: tuple[str, str]
    tests: tuple[ArmTest, ...]
    false_alarms: int
    false_alarm_rate: float
    shocks: RunShocks | None
    passes: bool
    sentence: str


def judge_aa(
    cells: Cells,
    *,
    arm: str = "arm",
    run: str | None = None,
    apart: Sequence[str] = (),
    alpha: float = 0.05,
) -> AaResult:
    """Judge the instrument by two identical arms.

    Args:
        cells: counts by task, entry, `arm`, and any further factors.
        arm: the factor that names the arms; two levels with trials.
        run: the factor that names repeated runs or rounds, to test for shared shocks.
        apart: factors that were set for whole runs; see `run_shocks`.
        alpha: level of each test, and of all after Holm.
    Raises:
        DesignError: not two arms, no such factor, or alpha out of range.
        SampleTooSmall: the arms share no task and entry.
    """
    if not 0.0 < alpha < 1.0:
        raise DesignError(f"alpha {alpha} must lie inside 0..1")
    arms = _arms(cells, arm)
    rows = list(_comparisons(cells, arm, arms, {arm, "task"} | ({run} if run else set())))
    # Arms apart: samples of one seed would else count as independent trials of one run.
    shocks = _shocks(cells, run, (*apart, arm))
    if shocks is not None:
        rows.append((OVERDISPERSION, None, shocks.p))
    tests = _judged(rows, alpha)
    false_alarms = sum(test.false_alarm for test in tests)
    passes = not any(test.alarm for test in tests)
    return AaResult(
        arms=arms,
        tests=tests,
        false_alarms=false_alarms,
        false_alarm_rate=false_alarms / len(tests),
        shocks=shocks,
        passes=passes,
        sentence=_sentence(tests, false_alarms, passes, alpha),
    )


def _arms(cells: Cells, arm: str) -> tuple[str, str]:
    cells.require("task", "entry", arm)
    used = [cells.levels[arm][code] for code in sorted(set(cells.codes[arm].tolist()))]
    if len(used) != 2:
        raise DesignError(f"{arm} has {len(used)} levels with trials; an A/A run has two arms")
    return used[0], used[1]


def _comparisons(
    cells: Cells, arm: str, arms: tuple[str, str], passed_over: set[str]
) -> Iterator[tuple[str, float | None, float | None]]:
    """Name, difference and p of the arms: over all, then within every level of each factor."""
    measures: Sequence[tuple[str, Measure]] = (("score", "strict"), ("infra errors", "infra"))
    for name, measure in measures:
        yield (name, *_compared(cells, arm, arms, measure))
    for factor in cells.factors:
        used = sorted(set(cells.codes[factor].tolist()))
        if factor in passed_over or len(used) < 2:
            continue
        for code in used:
            level = cells.levels[factor][code]
            try:
                found = _compared(cells.select(**{factor: level}), arm, arms, "strict")
            except SampleTooSmall:  # this level never had both arms on one task
                continue
            yield (f"score at {factor} {level}", *found)


def _compared(
    cells: Cells, arm: str, arms: tuple[str, str], measure: Measure
) -> tuple[float, float | None]:
    tables = strata_by_level(cells, arm, measure)
    found = contrast(tables[arms[1]], tables[arms[0]])
    return found.est, found.p_same


def _shocks(cells: Cells, run: str | None, apart: Sequence[str]) -> RunShocks | None:
    if run is None:
        return None
    try:
        return run_shocks(cells, run, apart)
    except SampleTooSmall:
        return None


def _judged(
    rows: Sequence[tuple[str, float | None, float | None]], alpha: float
) -> tuple[ArmTest, ...]:
    adjusted = holm([p for _, _, p in rows])
    return tuple(
        ArmTest(
            what=what,
            est=est,
            p=p,
            p_holm=p_holm,
            false_alarm=p is not None and p < alpha,
            alarm=p_holm is not None and p_holm < alpha,
        )
        for (what, est, p), p_holm in zip(rows, adjusted, strict=True)
    )


def _sentence(tests: Sequence[ArmTest], false_alarms: int, passes: bool, alpha: float) -> str:
    seen = f"{false_alarms} of {len(tests)} tests between identical arms had p < {alpha:g}"
    if passes:
        return f"The instrument passes: {seen}, none after Holm's correction."
    worst = min((t for t in tests if t.p_holm is not None), key=lambda t: t.p_holm or 0.0)
    stands_out = f"{worst.what} stands out (Holm p {worst.p_holm:.2g})"
    return f"The instrument does not pass: {seen}; {stands_out}."
