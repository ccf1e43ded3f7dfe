"""Ways to run beside the plain one, in real pods: like arms, an early stop."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infranoise.models.ledger import reading
from infranoise.models.ledger.store import open_store

CHANCE = """
name = "chance"
tasks = ["task-*"]
samples = 30
bands = ["1x", "3x"]
[[entries]]
agent = "command"
command = ["sh", "-c", "test $((INFRANOISE_SEED % 3)) -eq 0 || touch /app/answer"]
[pods]
runtime = "process"
network = "none"
"""
FILES = {
    "task.toml": 'version = "1.0"\n[environment]\nmemory_mb = 64\n',
    "instruction.md": "Do it.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
    "tests/test.sh": "[ -f /app/answer ]; echo $((1 - $?)) > /logs/verifier/reward.txt",
    "solution/solve.sh": "touch /app/answer",
}


def run(folder: Path, file: str, *options: str) -> dict[str, Any]:
    """`infranoise run FILE --out out --json` with these options, and what it printed."""
    ended = subprocess.run(
        [sys.executable, "-m", "infranoise", "run", file, "--out", "out", "--json", *options],
        cwd=folder,
        env=os.environ | {"INFRANOISE_STATE": str(folder / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return json.loads(ended.stdout)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def arms(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A/A arms over two tasks that two of three samples pass, until they are shown to be alike."""
    folder = tmp_path_factory.mktemp("arms")
    for task in ("task-a", "task-b"):
        for name, text in FILES.items():
            (folder / task / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / task / name).write_text(text)
    (folder / "chance.toml").write_text(CHANCE)
    return folder, run(folder, "chance.toml", "--aa", "--until", "margin=90")


def test_identical_arms_pass_the_instrument(arms: tuple[Path, dict[str, Any]]) -> None:
    _, document = arms
    assert [row["band"] for row in document["bands"]] == ["1x-A", "1x-B"]
    assert document["aa"]["passes"] is True
    assert document["aa"]["shocks"]["df"] > 0
    assert document["aa"]["sentence"].startswith("The instrument passes: ")


def test_a_run_that_has_seen_enough_ends_with_the_waves_that_had_begun(
    arms: tuple[Path, dict[str, Any]],
) -> None:
    folder, document = arms
    stopped = document["run"]["stopped"]
    assert stopped["contrasts"][0]["decision"] == "equivalent"
    assert stopped["contrasts"][0]["decided_at"] >= 4
    ended, planned = document["run"]["ended"], document["run"]["planned"]
    assert stopped["rounds"] * 4 <= ended < planned == 120
    store = open_store(folder / "out" / "ledger.sqlite")
    waves = {line.wave for line in reading.attempts(store, "chance-aa")}
    assert ended == 4 * len(waves), "no wave is left half done"
    assert document["run"]["happened"]["stopped early"] == 1
    assert "Why this run ended early" in (folder / "out" / "report.html").read_text()
