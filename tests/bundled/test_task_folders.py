import re
import tomllib
from pathlib import Path

import pytest

from infranoise.bundled.catalogue import BENCHMARKS, HERE, task_names
from infranoise.bundled.policies import POLICIES, policy_files
from infranoise.models.errors import TaskFileError
from infranoise.models.task_file import load_task

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
TASKS = [task for benchmark in BENCHMARKS for task in task_names(benchmark)]
LEAST_MB = 24  # below it the interpreter itself, not the way taken, would decide
PLAIN_FILES = re.compile(r"FROM python:3\.12-slim|WORKDIR /app|COPY \S+ \S+|ENV \S+=\S+")
PARTS = (
    *("instruction.md", "environment/Dockerfile", "environment/files"),
    *("tests/test.sh", "tests/verify.py", "tests/grade.py", "solution/solve.sh"),
    *("policies/run.sh", "policies/mixed.py", "policies/lean.py", "policies/heavy.py"),
)


@pytest.mark.parametrize("name", TASKS)
def test_a_complete_task_has_every_part(name: str, bundled_tasks: dict[str, Path]) -> None:
    assert [part for part in PARTS if not (bundled_tasks[name] / part).exists()] == []


@pytest.mark.parametrize("name", TASKS)
def test_the_loader_takes_it_without_a_warning(name: str, bundled_tasks: dict[str, Path]) -> None:
    task = load_task(bundled_tasks[name])
    assert (task.relocatable, task.warnings) == (True, ())
    assert task.spec.memory_mib is not None
    assert task.spec.memory_mib >= LEAST_MB


@pytest.mark.parametrize("name", TASKS)
def test_its_environment_is_plain_files(name: str, bundled_tasks: dict[str, Path]) -> None:
    lines = (bundled_tasks[name] / "environment" / "Dockerfile").read_text().splitlines()
    assert [line for line in lines if not PLAIN_FILES.fullmatch(line)] == []


def test_the_heavy_way_climbs_as_the_published_curve_does() -> None:
    bands = ("1x", "1.5x", "2x", "3x", "5x", "uncapped")
    tomls = [tomllib.loads(path.read_text()) for path in (HERE / "headroom").glob("*/task.toml")]
    first = [bands.index(toml["metadata"]["heavy_passes_from"]) for toml in tomls]
    assert [sum(f <= band for f in first) for band in range(len(bands))] == [0, 2, 4, 8, 9, 10]


def test_every_file_of_every_task_is_shipped() -> None:
    toml = tomllib.loads(PYPROJECT.read_text())
    patterns = toml["tool"]["setuptools"]["package-data"]["infranoise.bundled"]
    shipped = {path for pattern in patterns for path in HERE.glob(pattern)}
    files = {path for path in HERE.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert files - shipped == set()


def test_policies_are_found_where_a_task_has_them(bundled_tasks: dict[str, Path]) -> None:
    run = (policy_files(bundled_tasks["mosaic"]) / "run.sh").read_text()
    assert all(policy in run for policy in POLICIES)


def test_a_task_without_policies_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError, match="policies attempt bundled tasks only"):
        policy_files(tmp_path)
