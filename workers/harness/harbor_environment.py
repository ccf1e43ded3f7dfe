"""A pod of ours as Harbor's agents see it: an environment of theirs that is up already.

Only imported where an entry's agent is `harbor:<name>`: Harbor is an extra, and heavy.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths

from ...models.errors import PodError
from ..pods.pod import Pod
from .agent import Assignment
from .agent_clock import AgentClock

TIMED_OUT = 124  # what coreutils' `timeout` ends with
KILL_AFTER_S = 5


class OutOfTime(Exception):
    """The phase's time is over; every process in the pod is dead."""


class HarborEnvironment(BaseEnvironment):  # type: ignore[misc]
    """One pod, for the agent of one attempt.

    The pod is started, limited and removed by the attempt: `start` and `stop` do nothing here. What
    broke on the way is remembered in `broke`: Harbor's agents may take any exception for a command
    that failed, and an attempt must not. `clock` binds what runs; set it for each phase.
    """

    def __init__(self, pod: Pod, assignment: Assignment, folder: Path) -> None:
        self._pod = pod
        self.clock = AgentClock(None)
        self.broke: PodError | OutOfTime | None = None
        self._has_timeout: bool | None = None
        # A pod is one thread's: what an agent asks for at once is done one after the other.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="harbor-pod")
        task = assignment.task
        super().__init__(
            environment_dir=task.environment,
            environment_name=task.name.rpartition("/")[2],
            session_id=folder.name,
            trial_paths=TrialPaths(trial_dir=folder),
            task_env_config=EnvironmentConfig(),
            persistent_env=assignment.own_env,
        )
        self.default_user = task.agent_user
        self._workdir = task.workdir

    @staticmethod
    def type() -> str:
        """As Harbor's records name it."""
        return "infranoise"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """Nothing that Harbor would have to arrange."""
        return EnvironmentCapabilities()

    def _validate_definition(self) -> None:
        """The task was checked when it was loaded."""

    async def start(self, force_build: bool) -> None:
        """The attempt has started it."""

    async def stop(self, delete: bool) -> None:
        """The attempt stops it."""

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command, never twice.

        Raises:
            RuntimeError: it did not end in `timeout_sec` (as Harbor's own environments have it).
            OutOfTime: the phase's time is over. PodError: the pod, or the way to it, went away.
        """
        argv = ["bash", "-c", command]
        if timeout_sec is not None and await self._can_time_out():
            argv = ["timeout", f"--kill-after={KILL_AFTER_S}", str(timeout_sec), *argv]
        who = self._resolve_user(user)
        ended = await self._exec(
            argv,
            env=self._merge_env(env),
            user=None if who is None else str(who),
            cwd=cwd or self._workdir,
        )
        late = timeout_sec is not None and ended.wall_s >= timeout_sec
        if late and ended.exit_code in (TIMED_OUT, 128 + 9):
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds")
        return ExecResult(
            stdout=ended.stdout.tail, stderr=ended.stderr.tail, return_code=ended.exit_code
        )

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file in."""
        await self._do(self._pod.upload, Path(source_path), PurePosixPath(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy a folder's contents in."""
        await self._do(self._pod.upload, Path(source_dir), PurePosixPath(target_dir))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file out.

        Raises:
            FileNotFoundError: the pod has none of that name.
        """
        if not await self._do(self._pod.download, PurePosixPath(source_path), Path(target_path)):
            raise FileNotFoundError(f"the pod has no {source_path}")

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy a folder out.

        Raises:
            FileNotFoundError: the pod has none of that name.
        """
        await self.download_file(source_dir, target_dir)

    def close(self) -> None:
        """Wait for what is still under way in the pod."""
        self._thread.shutdown(wait=True)

    async def _can_time_out(self) -> bool:
        """Whether a command can be given a time of its own without the pod's other processes."""
        if self._has_timeout is None:
            ended = await self._exec(["sh", "-c", "command -v timeout"])
            self._has_timeout = ended.exit_code == 0
        return self._has_timeout

    async def _exec(self, argv: list[str], **more: Any) -> Any:
        left_s = self.clock.left_s
        if left_s is not None and left_s <= 0:
            raise self._over()
        ended = await self._do(self._pod.exec, argv, timeout_s=left_s, **more)
        if ended.timed_out:
            raise self._over()
        return ended

    def _over(self) -> OutOfTime:
        self.broke = OutOfTime("the time is over")
        return self.broke

    async def _do(self, work: Callable[..., Any], *words: Any, **more: Any) -> Any:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, partial(work, *words, **more))
        except PodError as error:
            self.broke = error
            raise
