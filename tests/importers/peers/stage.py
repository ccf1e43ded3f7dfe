"""A stage for Harbor: sandboxes that are plain folders, and agents that fail in known ways.

Loaded by Harbor in the Python that it is installed in; nothing here imports infranoise.
"""

import asyncio
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent  # type: ignore[import-not-found]
from harbor.environments.base import (  # type: ignore[import-not-found]
    BaseEnvironment,
    ExecResult,
    SandboxBuildFailedError,
)

PLACES = re.compile(r"(?<![\w.])/(?=(?:tests|logs|solution|app)\b)")


class Folder(BaseEnvironment):  # type: ignore[misc]
    """A sandbox whose root is a folder of this machine: quick, and fit for tests alone."""

    @staticmethod
    def type() -> str:
        return "folder"

    def _validate_definition(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="stage-"))

    async def start(self, force_build: bool) -> None:
        if self.environment_name == "unbuilt":
            raise SandboxBuildFailedError("failed to solve: no such instruction")
        for name in ("tests", "logs/agent", "logs/verifier", "logs/artifacts", "solution", "app"):
            (self.root / name).mkdir(parents=True, exist_ok=True)

    async def stop(self, delete: bool) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    async def upload_file(self, source_path: Any, target_path: str) -> None:
        target = self._inside(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, target)

    async def upload_dir(self, source_dir: Any, target_dir: str) -> None:
        shutil.copytree(source_dir, self._inside(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Any) -> None:
        shutil.copy(self._inside(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Any) -> None:
        shutil.copytree(self._inside(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        process = await asyncio.create_subprocess_shell(
            PLACES.sub(f"{self.root}/", command),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "ROOT": str(self.root), **(env or {})},
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        except BaseException:
            process.kill()
            raise
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=process.returncode)

    def _inside(self, path: str) -> Path:
        return self.root / str(path).lstrip("/")


class Scripted(BaseAgent):  # type: ignore[misc]
    """Does what the task's name says."""

    @staticmethod
    def name() -> str:
        return "scripted"

    def version(self) -> str:
        return "1.2"

    async def setup(self, environment: Any) -> None:
        """Nothing to install."""

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        await getattr(self, f"_{environment.environment_name}")(environment)
        context.n_input_tokens, context.n_output_tokens = 11, 3
        context.metadata = {"api_request_times_msec": [100.0, 400.0]}

    async def _solved(self, environment: Any) -> None:
        await environment.exec("touch $ROOT/app/done")

    async def _wrong(self, environment: Any) -> None:
        """Writes nothing."""

    async def _killed(self, environment: Any) -> None:
        """What an OOM kill looks like to a harness that does not read counters."""
        await environment.exec("bash -c 'kill -9 $$'")

    async def _late(self, environment: Any) -> None:
        await asyncio.sleep(60)

    async def _early(self, environment: Any) -> None:
        raise TimeoutError("the way to the sandbox timed out")

    async def _evicted(self, environment: Any) -> None:
        raise ConnectionError("the node was low on memory: the pod was evicted")

    async def _broken(self, environment: Any) -> None:
        raise RuntimeError("No space left on device")

    async def _flaky(self, environment: Any) -> None:
        mark = Path(os.environ["STAGE_MARKS"]) / environment.session_id.replace("/", "_")
        if not mark.exists():
            mark.touch()
            raise RuntimeError("Connection reset by peer")
        await self._solved(environment)

    async def _ungraded(self, environment: Any) -> None:
        """Its verifier writes no reward."""
