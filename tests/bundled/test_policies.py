"""The runner that every bundled task shares, with ways that do nothing but leave a trace."""

import importlib.util
import signal
from pathlib import Path
from typing import Any

import pytest

from infranoise.bundled.catalogue import SHARED, task_names

LEAVE = "open('trace', 'a').write('{way} ')\n"
DIE = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
OVERLOOKED = ["fine-print"]


@pytest.fixture
def traced(place: Any) -> Any:
    """A place whose two ways only write their names down."""
    (place.root / "policy").mkdir()
    place.attempt("none")
    for way in ("lean", "heavy"):
        (place.root / "policy" / f"{way}.py").write_text(LEAVE.format(way=way))
    return place


def run(place: Any, policy: str, **env: str) -> int:
    return int(place.run("sh", f"{place.root}/policy/run.sh", policy, **env))


def trace(place: Any) -> list[str]:
    return Path(place.root / "app" / "trace").read_text().split()


def kill_heavy(place: Any) -> None:
    heavy = place.root / "policy" / "heavy.py"
    heavy.write_text(heavy.read_text() + DIE)


@pytest.mark.parametrize("place", ["prime-gap"], indirect=True)
@pytest.mark.parametrize("policy", ["lean", "heavy"])
def test_lean_and_heavy_go_their_way(traced: Any, policy: str) -> None:
    assert run(traced, policy) == 0
    assert trace(traced) == [policy]


@pytest.mark.parametrize("place", ["prime-gap"], indirect=True)
def test_a_kill_of_heavy_is_the_end_of_the_command_itself(traced: Any) -> None:
    kill_heavy(traced)
    assert run(traced, "heavy") == -signal.SIGKILL


@pytest.mark.parametrize("place", ["prime-gap"], indirect=True)
def test_adaptive_stays_heavy_while_that_goes_well(traced: Any) -> None:
    assert run(traced, "adaptive") == 0
    assert trace(traced) == ["heavy"]


@pytest.mark.parametrize("place", ["prime-gap"], indirect=True)
def test_adaptive_turns_lean_after_a_kill(traced: Any) -> None:
    kill_heavy(traced)
    assert run(traced, "adaptive") == 0
    assert trace(traced) == ["heavy", "lean"]


@pytest.mark.parametrize("place", ["prime-gap"], indirect=True)
def test_mixed_goes_the_way_that_the_seed_says(traced: Any) -> None:
    samples = [str(sample) for sample in range(6)]
    facts = {"INFRANOISE_SEED": "7", "INFRANOISE_TASK": "prime-gap"}
    for sample in samples:
        assert run(traced, "mixed", INFRANOISE_SAMPLE=sample, **facts) == 0
    assert trace(traced) == [mixed_way("7", "prime-gap", sample) for sample in samples]


@pytest.mark.parametrize("place", ["prime-gap"], indirect=True)
def test_an_unknown_policy_is_refused(traced: Any) -> None:
    assert run(traced, "clever") == 64


def test_mixed_is_heavy_for_about_half_of_the_samples() -> None:
    ways = [
        mixed_way(str(seed), task, str(sample))
        for seed in range(10)
        for task in task_names("headroom")
        for sample in range(20)
    ]
    assert 900 < ways.count("heavy") < 1100  # 4.5 standard deviations of 2,000 fair coins


@pytest.mark.parametrize("place", task_names("headroom"), indirect=True)
def test_the_heavy_way_is_right_where_nothing_limits_it(place: Any) -> None:
    assert place.attempt("heavy") == 0
    assert place.reward() == 1.0


@pytest.mark.parametrize("place", OVERLOOKED, indirect=True)
@pytest.mark.parametrize("policy", ["lean", "heavy"])
def test_the_fine_print_is_overlooked_by_both(place: Any, policy: str) -> None:
    assert place.attempt(policy) == 0
    assert place.reward() == 0.0


def mixed_way(seed: str, task: str, sample: str) -> str:
    """`way` of shared/policies/mixed.py, which is no module of the product."""
    path = Path(SHARED / "policies" / "mixed.py")
    spec = importlib.util.spec_from_file_location("mixed", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.way(seed, task, sample))
