"""From an experiment file to what will run here: what does not fit, and what is left out."""

from pathlib import Path

import pytest

from infranoise.cli.settle import Settled, settle
from infranoise.models.experiment_file import parse_experiment

FILES = {
    "task.toml": 'version = "1.0"\n[environment]\nmemory_mb = 64\n',
    "instruction.md": "Do it.\n",
    "environment/Dockerfile": "FROM debian:bookworm-slim\n",
    "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("good", "other", "broken", "untested"):
        for file, text in FILES.items():
            path = tmp_path / "bench" / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    (tmp_path / "bench/broken/task.toml").write_text("not = = toml")
    (tmp_path / "bench/untested/tests/test.sh").unlink()
    return tmp_path


def settled(root: Path, exclude: str = "") -> Settled:
    text = f'tasks = ["bench"]\nexclude = [{exclude}]\n[pods]\nruntime = "process"'
    return settle(
        parse_experiment(text, where="e", default_name="e"), root, runtime=None, environ={}
    )


def test_each_malformed_task_is_named_and_the_others_go_on(root: Path) -> None:
    found = settled(root)
    assert [task.name for task in found.tasks] == ["bench/good", "bench/other"]
    faults = {m.task: m.why for m in found.misfits if m.blocks}
    assert faults.keys() == {"bench/broken", "bench/untested"}
    assert "is not TOML" in faults["bench/broken"]
    assert "nothing scores this task" in faults["bench/untested"]


@pytest.mark.parametrize(
    ("exclude", "kept", "told"),
    [
        ('"bench/good"', ["bench/other"], {"bench/broken", "bench/untested"}),
        ('"good"', ["bench/other"], {"bench/broken", "bench/untested"}),
        ('"broken", "unt*"', ["bench/good", "bench/other"], set()),
        ('"bench/o*"', ["bench/good"], {"bench/broken", "bench/untested"}),
    ],
)
def test_what_is_excluded_is_neither_run_nor_told(
    exclude: str, kept: list[str], told: set[str], root: Path
) -> None:
    found = settled(root, exclude)
    assert [task.name for task in found.tasks] == kept
    assert {m.task for m in found.misfits if m.blocks} == told
