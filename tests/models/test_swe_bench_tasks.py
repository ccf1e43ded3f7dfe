"""SWE-bench tasks in Harbor's format: they load as they are converted, and only memory moves."""

from pathlib import Path

import pytest

from infranoise.models.band import Band
from infranoise.models.experiment import Experiment
from infranoise.models.experiment_file import load_experiment
from infranoise.models.fitness import Machine, misfits
from infranoise.models.task_file import load_task

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = {
    "task.toml": """
        version = "1.0"
        [metadata]
        difficulty = "15 min - 1 hour"
        [agent]
        timeout_sec = 3000.0
        [verifier]
        timeout_sec = 3000.0
        [environment]
        build_timeout_sec = 1800.0
        cpus = 1
        memory = "4G"
        storage = "10G"
        """,
    "environment/Dockerfile": """
        FROM swebench/sweb.eval.x86_64.django_1776_django-11099:latest
        WORKDIR /testbed
        """,
    "instruction.md": "Fix the issue.\n",
    "tests/test.sh": "exit 0\n",
    "solution/solve.sh": "git apply /solution/fix.patch\n",
}


@pytest.fixture
def converted(tmp_path: Path) -> Path:
    """One task as a converter leaves it, with the legacy spelling of sizes."""
    folder = tmp_path / "swe-bench" / "django__django-11099"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        lines = (line.strip() for line in text.strip().splitlines())
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


def test_under_the_bands_of_the_example_nothing_but_memory_moves(converted: Path) -> None:
    task = load_task(converted)
    limits = [Band.shorthand(name).limits(task.spec) for name in ("1x", "5x")]
    assert [one.memory_ceiling_bytes for one in limits] == [4 << 30, 20 << 30]
    assert limits[0] == limits[1].model_copy(update={"memory_ceiling_bytes": 4 << 30})
    assert limits[0].cpu_ceiling is None
    assert limits[0].storage_ceiling_bytes is None


@pytest.mark.parametrize(("architecture", "fits"), [("x86_64", True), ("aarch64", False)])
def test_an_image_for_another_processor_is_told_before_anything_runs(
    converted: Path, architecture: str, fits: bool
) -> None:
    experiment = Experiment(tasks=("any",), bands=(Band.shorthand("1x"),))
    machine = Machine(cpus=8, memory_bytes=64 << 30, architecture=architecture)
    found = misfits([load_task(converted)], experiment, environ={}, machine=machine)
    told = [one.why for one in found if one.blocks]
    assert bool(told) != fits
    assert fits or "its image is for x86_64, this machine is aarch64" in told[0]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_every_example_is_an_experiment(path: Path) -> None:
    assert load_experiment(path).entries


def test_the_example_moves_memory_alone() -> None:
    experiment = load_experiment(EXAMPLES / "swe-bench-memory.toml")
    assert {(band.cpu.ceiling, band.storage.ceiling) for band in experiment.bands} == {
        ("uncapped", "uncapped")
    }
    assert [band.memory.ceiling for band in experiment.bands] == [1.0, 5.0]
