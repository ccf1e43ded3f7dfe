"""Specification of the plug-in for Harbor: every trial is stamped, no job is stopped."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from infranoise.models.stamp import STAMP_FILE, Stamp
from infranoise.workers.harbor_plugin import HarborPlugin

type Hook = Callable[[Any], Awaitable[None]]


class Job:
    """The part of a job that plug-ins use."""

    def __init__(self, folder: Path) -> None:
        self.config = SimpleNamespace(n_concurrent_trials=3)
        self.folder = folder
        self.hooks: dict[str, Hook] = {}

    def on_trial_started(self, hook: Hook) -> None:
        self.hooks["start"] = hook

    def on_trial_ended(self, hook: Hook) -> None:
        self.hooks["end"] = hook

    def on_trial_cancelled(self, hook: Hook) -> None:
        self.hooks["cancel"] = hook

    async def tell(self, what: str, trial: str) -> None:
        config = SimpleNamespace(trials_dir=self.folder, trial_name=trial)
        await self.hooks[what](SimpleNamespace(config=config))


def stamps(folder: Path, *story: tuple[str, str]) -> dict[str, Stamp]:
    """The stamps that a job leaves after this story of (event, trial)."""

    async def play() -> None:
        job, plugin = Job(folder), HarborPlugin(node="n1")
        await plugin.on_job_start(job)
        for what, trial in story:
            await job.tell(what, trial)
        await plugin.on_job_end(None)

    asyncio.run(play())
    return {
        path.parent.name: Stamp.model_validate_json(path.read_text())
        for path in folder.glob(f"*/{STAMP_FILE}")
    }


def test_a_trial_is_stamped_with_its_node_load_and_neighbours(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    found = stamps(tmp_path, ("start", "a"), ("start", "b"), ("end", "a"), ("cancel", "b"))
    a, b = found["a"], found["b"]
    assert (a.node, a.slots, a.profile == b.profile) == ("n1", 3, True)
    assert (a.co_running_start, a.co_running_peak, a.co_running_end) == (0, 1, 1)
    assert (b.co_running_start, b.co_running_peak, b.co_running_end) == (1, 1, 0)
    assert a.load_start is not None
    assert a.load_end is not None
    assert a.profile.kernel


def test_a_folder_that_is_gone_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert stamps(tmp_path, ("start", "gone"), ("end", "gone"), ("end", "never")) == {}
    assert "gone was not stamped" in caplog.text
