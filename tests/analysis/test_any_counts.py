"""Any counts: gaps, splits, ceilings, cross-checks and A/A verdicts are right, or refused."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.aa import judge_aa
from infranoise.analysis.calibrate import calibrate
from infranoise.analysis.cells import Cells
from infranoise.analysis.crosscheck import crosscheck
from infranoise.analysis.gaps import gaps
from infranoise.analysis.glmm import fit_glmm
from infranoise.analysis.shocks import run_shocks
from infranoise.analysis.split import split
from infranoise.models.errors import DesignError, SampleTooSmall

BANDS = ("1x", "2x", "3x")
ENTRIES = ("a", "b")


@dataclasses.dataclass(frozen=True, slots=True)
class Drawn:
    """Rows (task, entry, band, n, passed, infra); some combinations are missing."""

    rows: tuple[tuple[str, str, str, int, int, int], ...]

    def cells(
        self, tasks: Callable[[str], str] = str, copies: int = 1, pieces: bool = False
    ) -> Cells:
        """As cells; every row `copies` times over, or cut into trials of one factor more."""
        rows = [r for r in self.rows for _ in range(copies)]
        task, entry, band, n, passed, infra = zip(*rows, strict=True)
        labels: dict[str, object] = {
            "task": [tasks(t) for t in task],
            "entry": entry,
            "band": band,
        }
        if pieces:
            labels["piece"] = [str(i % 2) for i in range(len(rows))]
        order = {"band": BANDS, "entry": ENTRIES}
        return Cells.of_counts(
            labels,  # type: ignore[arg-type]
            n=n,
            passed=passed,
            infra=infra,
            levels=order,
        )


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    """1 to 4 tasks, two entries, three bands, 0 to 5 samples a cell."""
    rows = []
    for t in range(draw(st.integers(1, 4))):
        for entry in ENTRIES:
            for band in BANDS:
                n = draw(st.sampled_from([0, 1, 2, 4, 5]))
                infra = draw(st.integers(0, n))
                rows.append((f"t{t}", entry, band, n, draw(st.integers(0, n - infra)), infra))
    rows.append(("t0", "a", "1x", 1, 0, 0))
    return Drawn(tuple(rows))


QUESTIONS: dict[str, Callable[[Cells], object]] = {
    "gaps": gaps,
    "split": lambda cells: split(cells, "3x", "1x"),
    "calibrate": calibrate,
    "crosscheck": lambda cells: crosscheck(cells, draws=99),
    "mixed model": fit_glmm,
    "mixed model by stratum": lambda cells: fit_glmm(cells, intercepts="stratum"),
    "A/A": lambda cells: judge_aa(cells.select(band=["1x", "3x"]), arm="band"),
    "shocks": lambda cells: run_shocks(cells, "band"),
}


def _numbers(value: object) -> Iterator[float]:
    """Every float in a tree of dataclasses, mappings and tuples."""
    if isinstance(value, float):
        yield value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _numbers(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _numbers(part)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _numbers(part)


def _answer(ask: Callable[[Cells], object], cells: Cells) -> object:
    """The answer, or the kind of refusal."""
    try:
        return ask(cells)
    except (DesignError, SampleTooSmall) as refusal:
        return type(refusal)


@pytest.mark.parametrize("question", QUESTIONS)
@given(found=drawn())
@settings(max_examples=30, deadline=None)
def test_every_number_of_every_answer_is_a_number(question: str, found: Drawn) -> None:
    answer = _answer(QUESTIONS[question], found.cells())
    assert all(math.isfinite(number) for number in _numbers(answer))


@pytest.mark.parametrize("question", ["gaps", "split", "calibrate", "A/A"])
@given(found=drawn())
@settings(max_examples=20, deadline=None)
def test_names_of_tasks_do_not_matter(question: str, found: Drawn) -> None:
    renamed = found.cells(tasks=lambda name: f"zz-{9 - int(name[1:])}")
    one, other = (_answer(QUESTIONS[question], c) for c in (found.cells(), renamed))
    assert list(_numbers(one)) == pytest.approx(list(_numbers(other)), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("question", ["gaps", "split", "calibrate", "mixed model"])
@given(found=drawn())
@settings(max_examples=20, deadline=None)
def test_cutting_cells_into_pieces_changes_nothing(question: str, found: Drawn) -> None:
    whole, cut = (
        _answer(QUESTIONS[question], found.cells(copies=2, pieces=pieces))
        for pieces in (False, True)
    )
    assert list(_numbers(whole)) == pytest.approx(list(_numbers(cut)))


@given(found=drawn())
@settings(max_examples=30, deadline=None)
def test_twice_the_same_data_keep_what_tasks_say(found: Drawn) -> None:
    once, twice = (_answer(QUESTIONS["gaps"], found.cells(copies=k)) for k in (1, 2))
    if isinstance(once, type) or isinstance(twice, type):
        assert once == twice
        return
    for one, other in zip(once.pairs, twice.pairs, strict=True):  # type: ignore[attr-defined]
        assert other.est == pytest.approx(one.est)
        assert other.bounds == pytest.approx(one.bounds)
        assert other.se_new == pytest.approx(one.se_new)
