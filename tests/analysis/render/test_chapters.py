"""Chapters: each begins with one plain sentence that states what its numbers show."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.cells import Cells
from infranoise.analysis.factor import Factor
from infranoise.analysis.findings import Findings, Known, findings
from infranoise.analysis.parts import Asked
from infranoise.analysis.render.chapter import Chapter
from infranoise.analysis.render.chapters import chapters

BANDS = ("1x", "3x", "uncapped")
# Task, entry and band each move the passes, without luck: of 40 trials, and ten times as many run.
BASE = {"a": 8, "b": 20, "c": 30, "d": 14}
GAIN = {"1x": 0, "3x": 0, "uncapped": 6}
HEAD = {"first": 4, "second": 0, "third": -1}
ERRORS = {"1x": 4, "3x": 1, "uncapped": 0}


def cells(**more: tuple[str, ...]) -> Cells:
    """Counts of four tasks, three entries and three bands, at every level of further factors."""
    rows = [
        (task, entry, band, *levels)
        for task in BASE
        for entry in HEAD
        for band in BANDS
        for levels in _product(list(more.values()))
    ]
    names = ("task", "entry", "band", *more)
    passed = [BASE[t] + HEAD[e] + GAIN[b] for t, e, b, *_ in rows]
    return Cells.of_counts(
        {name: [row[k] for row in rows] for k, name in enumerate(names)},
        n=[400] * len(rows),
        passed=[10 * count for count in passed],
        infra=[10 * ERRORS[row[2]] for row in rows],
    )


def _product(levels: list[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    if not levels:
        yield ()
        return
    for level in levels[0]:
        for rest in _product(levels[1:]):
            yield (level, *rest)


def by_anchor(found: Findings) -> dict[str, Chapter]:
    return {chapter.anchor: chapter for chapter in chapters(found)}


@pytest.fixture(scope="module")
def told() -> dict[str, Chapter]:
    return by_anchor(findings(cells()))


@pytest.fixture(scope="module")
def scripts() -> dict[str, Chapter]:
    """The same of scripts, with a factor that was only observed."""
    asked = Asked(factors=(Factor("node"),))
    known = Known(policies=("first", "second", "third"))
    return by_anchor(findings(cells(node=("n1", "n2")), asked, known))


LEADS = {
    "bands": "On these tasks the score differs from that in 1x in uncapped (+15.0 points), and it "
    "is shown to be equal within 3.0 points in 3x.",
    "tasks": "4 of 4 tasks score differently in different bands, by these counts alone: one task's "
    "few samples differ by luck as well.",
    "components": "The variance of a single trial comes mostly from within a cell (80 %), task "
    "(17 %) and band (2 %).",
    "entries": "No pair of entries is shown to answer differently to a band on these tasks; the "
    "largest difference of lifts is first less second from 1x to 3x: 0.0 points, Holm p = 1.000; "
    "the order of every pair holds across bands in 95 % of resampled task sets or more.",
    "ceiling": "Pin 3x: it is the smallest ceiling that is shown both to cut infra errors below "
    "0.5 times those of 1x and to leave the score within 3 points.",
    "gaps": "Of 3 gaps between three entries, 0 are credible whatever the configurations, 3 only "
    "if they were matched, and 0 cannot be told from noise; that makes 1 tie group.",
    "crosscheck": "In every band the permutation test and the mixed model agree with the contrasts "
    "above, in sign and in the decision at 5 %.",
}


@pytest.mark.parametrize("anchor", LEADS)
def test_the_sentence_of_a_chapter_states_its_finding(
    told: dict[str, Chapter], anchor: str
) -> None:
    assert told[anchor].lead == LEADS[anchor]


def test_the_factor_that_moves_the_score_is_named_with_its_size(told: dict[str, Chapter]) -> None:
    assert told["factors"].lead == (
        "The band moves the score: a standard deviation of 7.1 points over its levels (95 % "
        "interval 6.3 to 7.8), p < 0.001."
    )


def test_the_budget_says_of_what_the_noise_is_made(told: dict[str, Chapter]) -> None:
    assert told["budget"].lead.startswith(
        "A score of one entry over 4 tasks and 400 samples of each, in a configuration that nobody "
        "matched, has a standard deviation of"
    )


def test_an_observed_factor_is_an_association_wherever_it_is_printed(
    scripts: dict[str, Chapter],
) -> None:
    chapter = scripts["factors"]
    assert "node was observed, not assigned" in " ".join(chapter.notes)
    components = next(t for t in chapter.tables if "role" in t.headings)
    roles = {row[0].text: row[1].text for row in components.rows}
    assert roles == {"band": "assigned per trial", "node": "observed: association"}
    for chapter in scripts.values():
        for part in chapter.tables:
            for row in part.rows:
                words = " ".join(cell.text for cell in row)
                if re.search(r"\bnode\b", words) and part.caption[:7] != "Balance":
                    assert re.search("association|observed", words), (part.caption, words)


def test_policies_are_called_policies(scripts: dict[str, Chapter]) -> None:
    told = scripts
    assert "between three policies" in told["gaps"].lead
    assert any("are policies: scripts" in note for note in told["bands"].notes)
    kinds = {row[1].text for t in told["bands"].tables if "kind" in t.headings for row in t.rows}
    assert kinds == {"policy"}


def test_what_the_counts_cannot_give_is_said() -> None:
    lone = Cells.of_counts({"task": ["a"], "entry": ["e"], "band": ["1x"]}, n=[3], passed=[1])
    told = by_anchor(findings(lone))
    reasons = {row[0].text: row[1].text for row in told["refused"].tables[0].rows}
    assert reasons["gaps"] == "a gap needs two entries with trials"
    assert told["bands"].lead == "One band alone has outcomes, so nothing can be compared yet."


@settings(max_examples=3)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)),
             min_size=8, max_size=8)
)  # fmt: skip
def test_any_counts_give_chapters_without_a_hole(counts: list[tuple[int, int, int]]) -> None:
    keys = [(t, e, b) for t in "xy" for e in "ab" for b in ("1x", "3x")]
    made = Cells.of_counts(
        {name: [key[k] for key in keys] for k, name in enumerate(("task", "entry", "band"))},
        n=[max(n, p + i) for n, p, i in counts],
        passed=[p for _, p, _ in counts],
        infra=[i for _, _, i in counts],
    )
    for chapter in chapters(findings(made)):
        assert chapter.lead.endswith(".")
        texts = [chapter.lead, *chapter.notes]
        texts += [cell.text for t in chapter.tables for row in t.rows for cell in row]
        assert not [text for text in texts if re.search(r"\b(nan|None|inf)\b", text)]
        for table in chapter.tables:
            assert {len(row) for row in table.rows} <= {len(table.headings)}
