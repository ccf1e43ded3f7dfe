"""Complete bundled tasks, and a stand-in for a pod: a folder that INFRANOISE_ROOT names."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from infranoise.bundled.catalogue import BENCHMARKS
from infranoise.bundled.materialise import materialise


@dataclass(frozen=True, slots=True)
class Place:
    """What a pod would hold of one task, below `root`; no limits and no walls."""

    task: Path
    root: Path

    def run(self, *argv: str, **env: str) -> int:
        """Runs a command in /app, as agents and verifiers are; returns its status."""
        # The interpreter's own folder, so that no wrapper of a version manager stands between.
        path = f"{Path(sys.base_prefix) / 'bin'}:{os.defpath}"
        environment = {"PATH": path, "INFRANOISE_ROOT": str(self.root), **env}
        return subprocess.run(argv, cwd=self.root / "app", env=environment, check=False).returncode

    def solve(self) -> int:
        shutil.copytree(self.task / "solution", self.root / "solution")
        return self.run("bash", f"{self.root}/solution/solve.sh")

    def attempt(self, policy: str, **env: str) -> int:
        shutil.copytree(self.task / "policies", self.root / "policy", dirs_exist_ok=True)
        return self.run("sh", f"{self.root}/policy/run.sh", policy, **env)

    def reward(self) -> float:
        """Runs the tests and reads what they wrote."""
        shutil.copytree(self.task / "tests", self.root / "tests", dirs_exist_ok=True)
        assert self.run("bash", f"{self.root}/tests/test.sh") == 0
        return float((self.root / "logs/verifier/reward.txt").read_text())


@pytest.fixture(scope="session")
def bundled_tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every bundled task by name, complete."""
    cache = tmp_path_factory.mktemp("bundled")
    return {path.name: path for name in BENCHMARKS for path in materialise(name, cache)}


@pytest.fixture
def place(request: pytest.FixtureRequest, bundled_tasks: dict[str, Path], tmp_path: Path) -> Place:
    """The place of the task that the test's parameter names."""
    task = bundled_tasks[request.param]
    shutil.copytree(task / "environment" / "files", tmp_path / "app")
    return Place(task, tmp_path)
