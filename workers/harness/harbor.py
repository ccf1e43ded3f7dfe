"""`harbor:<name>`: any agent of the installed Harbor, in a pod of ours.

Harbor makes, sets up and runs the agent; pod, limits, clocks, verifier and evidence are ours. An
agent of Harbor's may take a lost connection for a command that failed, or a time-out of its own for
the task's: what broke is read from the environment that it was given, never from what it says.

Source: Harbor 0.24, `harbor.agents.base.BaseAgent` and `harbor.agents.factory.AgentFactory`.
"""

import asyncio
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ...models.errors import DesignError, PodError, Refused, StartFailed
from ...models.execution import ExecResult, Stream
from ..pods.pod import Pod
from .agent import Assignment, Tried
from .agent_clock import AgentClock

PREFIX = "harbor:"
SETUP_TIMEOUT_S = 360.0  # Harbor's own
LOGS = PurePosixPath("/logs/agent")
CONTEXT = "harbor_context.json"
KEPT_BYTES = 4 * 1024 * 1024  # of all the files of an agent
BUSY = (408, 409, 429)
QUIET = {"HARBOR_TELEMETRY": "off", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


class HarborAgent:
    """One attempt of an agent of Harbor's.

    Args:
        name: as Harbor registers it (`terminus-2`, `claude-code`, …).
        options: the agent's own keywords, and `setup_timeout_s`.
    Raises:
        DesignError: Harbor is not installed here, or has no such agent.
    """

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        for variable, value in QUIET.items():
            os.environ.setdefault(variable, value)
        try:
            from harbor.agents.factory import AgentFactory
            from harbor.models.agent.name import AgentName
        except ImportError as error:
            raise DesignError(
                f"agent {PREFIX}{name}: Harbor is not installed here ({error}); install "
                "infranoise[harbor] where the worker runs"
            ) from error
        if name not in AgentFactory.registered_names():
            known = ", ".join(sorted(AgentFactory.registered_names()))
            raise DesignError(f"agent {PREFIX}{name}: Harbor has no such agent; it has {known}")
        self._class = AgentFactory.get_agent_class(AgentName(name))
        self._name, self._options = name, dict(options)
        self._setup_timeout_s = float(self._options.pop("setup_timeout_s", SETUP_TIMEOUT_S))
        self._folder = tempfile.TemporaryDirectory(prefix="infranoise-harbor-")

    def setup(self, pod: Pod, assignment: Assignment) -> None:
        """As `Agent.setup` says: Harbor's own set-up, on a clock of its own.

        Raises:
            Refused: the pod has no file tree of its own. StartFailed: the set-up failed or did not
                end in time: it downloads what it needs, which is no doing of the model's.
        """
        from .harbor_environment import HarborEnvironment, OutOfTime

        if pod.root:
            raise Refused(
                f"agent {PREFIX}{self._name} needs a pod with a file tree of its own; use runtime "
                "docker or kubernetes"
            )
        self._environment = HarborEnvironment(pod, assignment, Path(self._folder.name))
        self._environment.trial_paths.mkdir()
        self._agent = self._made(assignment)
        self._environment.clock = AgentClock(self._setup_timeout_s)
        try:
            asyncio.run(self._within(self._agent.setup(self._environment)))
        except Exception as error:
            broke = self._environment.broke
            if isinstance(broke, PodError):
                raise broke from error
            late = isinstance(broke, OutOfTime) or isinstance(error, TimeoutError)
            why = f"it did not end in {self._setup_timeout_s:g} s" if late else _words(error)
            raise StartFailed(f"the set-up of agent {PREFIX}{self._name} failed: {why}") from error

    def run(self, pod: Pod, assignment: Assignment, timeout_s: float | None) -> Tried:
        """As `Agent.run` says."""
        from harbor.models.agent.context import AgentContext

        clock, context = AgentClock(timeout_s), AgentContext()
        self._environment.clock, self._environment.broke = clock, None
        words = assignment.task.instruction.read_text(encoding="utf-8", errors="replace")
        said: Exception | None = None
        try:
            asyncio.run(self._within(self._agent.run(words, self._environment, context)))
        except Exception as error:  # Harbor's agents raise what they like: judged by what broke
            said = error
        finally:
            self._environment.close()
        elapsed_s = clock.elapsed_s
        self._fetch_logs(pod)
        self._agent.populate_context_post_run(context)
        (self._environment.trial_paths.agent_dir / CONTEXT).write_text(context.model_dump_json())
        return self._tried(said, elapsed_s, out_of_time=clock.over)

    def files(self) -> dict[str, bytes]:
        """As `Recorder.files` says: the agent's logs, smallest first, within a bound."""
        folder = Path(self._folder.name) / "agent"
        kept: dict[str, bytes] = {}
        found = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        room = KEPT_BYTES
        for path in sorted(found, key=lambda one: one.stat().st_size):
            room -= path.stat().st_size
            if room < 0:
                break
            kept[path.relative_to(folder).as_posix().replace("/", ".")] = path.read_bytes()
        self._folder.cleanup()
        return kept

    def _made(self, assignment: Assignment) -> Any:
        """The agent, told how to reach its model: the gateway's address and the attempt's token."""
        told: dict[str, Any] = {"extra_env": assignment.env}
        api, fields = assignment.api, getattr(self._class.options_model, "model_fields", {})
        model = None if assignment.entry.model == "none" else assignment.entry.model
        if api is not None:
            model = api.model if "/" in api.model else f"{api.dialect}/{api.model}"
            if "api_base" in fields and "llm_kwargs" in fields:  # it speaks from the node
                told |= {"api_base": api.base_url, "llm_kwargs": {"api_key": api.token}}
        if self._name == "oracle":
            told |= {
                "task_dir": assignment.task.directory,
                "trial_paths": self._environment.trial_paths,
            }
        folder = self._environment.trial_paths.agent_dir
        try:
            return self._class(logs_dir=folder, model_name=model, **told | self._options)
        except Exception as error:  # foreign code, and the user's options
            raise DesignError(
                f"entry {assignment.entry.name}: agent {PREFIX}{self._name} cannot be made: "
                f"{_words(error)}; correct options = {{…}} or model of the entry"
            ) from error

    async def _within(self, work: Any) -> None:
        async with asyncio.timeout(self._environment.clock.left_s):
            await work

    def _fetch_logs(self, pod: Pod) -> None:
        if not isinstance(self._environment.broke, PodError):
            pod.download(LOGS, self._environment.trial_paths.agent_dir)

    def _tried(self, said: Exception | None, elapsed_s: float, *, out_of_time: bool) -> Tried:
        broke = self._environment.broke
        if isinstance(broke, PodError):
            raise broke from said
        late = out_of_time or broke is not None
        summary = "out of time" if late else _words(said) if said else "ended"
        result = ExecResult(
            exit_code=None if late else int(said is not None),
            timed_out=late,
            wall_s=elapsed_s,
            stdout=Stream(),
            stderr=Stream(tail=summary, total_bytes=len(summary.encode())),
        )
        if said is None or late:
            return Tried(result)
        if of_the_api(said):
            return Tried(result, api_fault=_words(said))
        return Tried(result, fault=_words(said))


def of_the_api(error: BaseException) -> bool:
    """Whether an agent gave up because of its model's API: busy, broken or out of reach.

    Harbor's own words for it are the `Api…Error`s of `harbor.agents.installed.base`; agents that
    speak from the node raise what their SDKs do, with the `status_code` of the answer.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"ApiRateLimitError", "ApiInternalServerError", "ApiOverloadedError",
                "ApiConnectionClosedError", "ApiResponseStalledError",
                "APIConnectionError", "APITimeoutError"}:  # fmt: skip
        return True
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and (status in BUSY or status >= 500):
        return True
    cause = error.__cause__ or _last_of_retries(error)
    return cause is not None and of_the_api(cause)


def _last_of_retries(error: BaseException) -> BaseException | None:
    """The error of the last of several tries, as tenacity keeps it."""
    last = getattr(error, "last_attempt", None)
    found = last.exception() if last is not None else None
    return found if isinstance(found, BaseException) else None


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip().rstrip(":")[:2000]
