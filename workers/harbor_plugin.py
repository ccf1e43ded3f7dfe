"""A plug-in of Harbor: stamps the node and its load onto every trial of a job as it runs.

    harbor run … --plugin infranoise

Beside each trial's `result.json` it leaves a stamp (`models/stamp.py`), so that the job's results
are imported with their conditions. It never stops a job: what cannot be written is logged.

Source: Harbor 0.24, `harbor.models.job.plugin.JobPlugin` and `harbor.trial.hooks`.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from ..models.load import Load
from ..models.node import NodeProfile
from ..models.stamp import STAMP_FILE, Stamp
from .meters.load import read_load
from .node import node_profile

LOGGER = logging.getLogger(__name__)


class TrialConfig(Protocol):
    """What we read of a trial's configuration."""

    trials_dir: Path
    trial_name: str


class TrialEvent(Protocol):
    """What we read of an event in a trial's life."""

    @property
    def config(self) -> TrialConfig: ...


type Hook = Callable[[TrialEvent], Awaitable[None]]


class JobConfig(Protocol):
    """What we read of a job's configuration."""

    n_concurrent_trials: int


class Job(Protocol):
    """What we use of a job."""

    @property
    def config(self) -> JobConfig: ...

    def on_trial_started(self, callback: Hook) -> object: ...

    def on_trial_ended(self, callback: Hook) -> object: ...

    def on_trial_cancelled(self, callback: Hook) -> object: ...


class HarborPlugin:
    """Stamps trials.

    Args:
        node: the name of this node; by default the machine's own.
    """

    def __init__(self, node: str | None = None) -> None:
        self._node = node or socket.gethostname()
        self._profile: NodeProfile | None = None
        self._slots: int | None = None
        self._running: dict[Path, _Beginning] = {}

    async def on_job_start(self, job: Job) -> None:
        """Look at the node, and listen to the job's trials."""
        self._profile = await asyncio.to_thread(node_profile)
        self._slots = job.config.n_concurrent_trials
        job.on_trial_started(self._started)
        job.on_trial_ended(self._ended)
        job.on_trial_cancelled(self._ended)

    async def on_job_end(self, job_result: object) -> None:
        """Nothing is left to do: every trial was stamped at its end."""

    async def _started(self, event: TrialEvent) -> None:
        folder = _folder(event)
        self._running[folder] = _Beginning(len(self._running), await asyncio.to_thread(read_load))
        for beginning in self._running.values():
            beginning.peak = max(beginning.peak, len(self._running) - 1)

    async def _ended(self, event: TrialEvent) -> None:
        folder = _folder(event)
        beginning = self._running.pop(folder, None)
        if beginning is None or self._profile is None:
            return
        stamp = Stamp(
            node=self._node,
            profile=self._profile,
            slots=self._slots,
            co_running_start=beginning.neighbours,
            co_running_peak=beginning.peak,
            co_running_end=len(self._running),
            load_start=beginning.load,
            load_end=await asyncio.to_thread(read_load),
        )
        try:
            await asyncio.to_thread(_write, folder / STAMP_FILE, stamp)
        except OSError as error:
            LOGGER.warning("infranoise: %s was not stamped: %s", folder, error)


class _Beginning:
    """What a trial began under; `peak` rises while it runs."""

    __slots__ = ("load", "neighbours", "peak")

    def __init__(self, neighbours: int, load: Load) -> None:
        self.neighbours = self.peak = neighbours
        self.load = load


def _folder(event: TrialEvent) -> Path:
    return Path(event.config.trials_dir) / event.config.trial_name


def _write(path: Path, stamp: Stamp) -> None:
    draft = path.with_name(f".{path.name}")
    draft.write_text(stamp.model_dump_json(exclude_unset=True), encoding="utf-8")
    draft.replace(path)
