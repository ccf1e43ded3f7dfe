"""The model's API as a factor: a slow provider is told apart from the bands."""

from collections.abc import Callable
from random import Random

import pytest
from sqlalchemy import Engine

from infranoise.analysis.card import card
from infranoise.analysis.findings import Findings, findings
from infranoise.analysis.flags import Flag
from infranoise.analysis.latency import latency_level
from infranoise.analysis.read_ledger import read_study
from infranoise.analysis.render.card_markdown import card_markdown
from infranoise.analysis.render.factors_chapter import factors_chapter
from infranoise.analysis.run_facts import known, run_facts
from infranoise.analysis.study_cells import study_cells
from infranoise.models.api_call import ApiUse
from infranoise.models.evidence import Evidence, Phase
from infranoise.models.trial import CellKey

TASKS = tuple(f"suite/{name}" for name in "abcdefgh")
# Two days by a clock that only this test turns: slow in the afternoon of the first, and in the
# morning of the second.
WAVES = 24
SLOW = {*range(6, 11), *range(14, 18)}


def hour(sample: int) -> int:
    return 2 * (sample % 12)


def slow_provider(cell: CellKey, sample: int) -> Evidence:
    """Half of what is solved in time is not when the API is slow; the band changes nothing."""
    draw = Random(f"{cell.text}{sample}")
    slow = sample in SLOW
    first_s = draw.uniform(4.5, 7.5) if slow else draw.uniform(0.55, 0.95)
    passed = draw.random() < (0.35 if slow else 0.8)
    phases = (
        Phase(name="setup", exit_code=0, oom_kills=0),
        Phase(name="agent", exit_code=None if not passed else 0, timed_out=not passed, oom_kills=0),
        Phase(name="verifier", exit_code=0, oom_kills=0),
    )
    api = ApiUse(
        calls=10, first_byte_p50_s=first_s, first_byte_p95_s=2 * first_s, wait_s=10 * first_s
    )
    return Evidence(phases=phases, reward=float(passed), enforcement="test", api=api)


@pytest.fixture
def found(make_ledger: Callable[..., Engine]) -> Findings:
    study = read_study(make_ledger(slow_provider, TASKS, samples=WAVES, hour=hour))
    return findings(*study_cells(study), known(run_facts(study)))


def test_a_slow_provider_is_attributed_to_its_latency_and_not_to_the_bands(
    found: Findings,
) -> None:
    assert found.attribution is not None
    rows = {row.factor: row for row in found.attribution.factors}
    latency, band = rows["api_latency"], rows["band"]
    assert latency.role == "observed"
    assert Flag.ASSOCIATION in latency.flags
    assert latency.component is not None
    assert latency.component.sd_points > 10
    assert band.component is None or band.component.sd_points < 3
    assert all(abs(one.lift.est) < 0.06 for one in found.bands[1:] if one.lift)


def test_the_report_calls_it_an_association(found: Findings) -> None:
    assert found.attribution is not None
    chapter = factors_chapter(found.attribution)
    assert "api_latency goes along with the score most" in chapter.lead
    assert any("was observed, not assigned" in note or "were observed, not assigned" in note
               for note in chapter.notes)  # fmt: skip


def test_the_card_says_how_slow_it_was_and_whether_that_took_time(
    make_ledger: Callable[..., Engine],
) -> None:
    study = read_study(make_ledger(slow_provider, TASKS[:2], samples=4, hour=hour))
    made = card(study, run_facts(study))
    assert made.model_api is not None
    assert made.model_api.api_wait == "counts"
    assert made.model_api.first_byte_p50_s == pytest.approx(0.75, abs=0.2)
    text = card_markdown(made)
    assert "| waiting for the model's API | takes the agent's time |" in text
    assert "model API, first byte" in text


@pytest.mark.parametrize(
    ("seconds", "level"),
    [(None, None), (0.0, "under 0.25 s"), (0.25, "0.25 to 0.5 s"), (300.0, "256 s and more")],
)
def test_a_latency_is_a_level(seconds: float | None, level: str | None) -> None:
    assert latency_level(seconds) == level
