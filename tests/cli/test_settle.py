"""From an experiment file to what will run here: what does not fit, and what is left out."""

from pathlib import Path

import pytest

from infranoise.cli.settle import Settled, settle
from infranoise.models.errors import DesignError
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


@pytest.mark.parametrize("network", ["none", "internal", "gateway"])
def test_a_cluster_promises_no_network_but_its_own(root: Path, network: str) -> None:
    text = f'tasks = ["bench"]\n[pods]\nruntime = "kubernetes"\nnetwork = "{network}"'
    asked = parse_experiment(text, where="e", default_name="e")
    with pytest.raises(DesignError, match="--runtime docker") as refusal:
        settle(asked, root, runtime=None, environ={})
    assert f'network = "{network}"' in str(refusal.value)


@pytest.mark.parametrize("runtime", ["process", "docker"])
def test_a_machine_that_can_make_no_outlets_says_so_before_anything_is_spent(
    root: Path, runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infranoise.cli.settle.why_no_outlets", lambda: "run it as root")
    text = f'tasks = ["bench"]\n[pods]\nruntime = "{runtime}"\nnetwork = "gateway"'
    asked = parse_experiment(text, where="e", default_name="e")
    with pytest.raises(DesignError, match="run it as root"):
        settle(asked, root, runtime=None, environ={})


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
