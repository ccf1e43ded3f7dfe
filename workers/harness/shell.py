"""`shell`: a chat model that runs commands in the pod until it says that it is done.

The loop runs on the node and speaks to the gateway with the attempt's token; nothing is installed
in the pod, and what runs there never sees the token. Everything that was said and done is kept as
JSON lines (`trajectory.jsonl`).
"""

import asyncio
import json
import time
from typing import Any

from ...models.errors import DesignError
from ...models.execution import ExecResult, Stream
from ...models.shell_options import ShellOptions
from ..pods.pod import Pod
from .agent import Assignment, Tried
from .agent_clock import AgentClock
from .shell_talk import (
    ApiFailed,
    BrokeMidway,
    Call,
    Overdrawn,
    RequestRefused,
    Said,
    Talk,
    talk_with,
    told,
)

TRAJECTORY = "trajectory.jsonl"
NO_COMMAND = "error: the tool `run` wants a text `command`"
AGAIN_AFTER_S = 0.5


class Shell:
    """One attempt of the `shell` agent."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = ShellOptions.model_validate(options)
        self._lines: list[str] = []
        self._turns = self._commands = self._tokens = 0
        self._last = ""

    def setup(self, pod: Pod, assignment: Assignment) -> None:
        """As `Agent.setup` says; nothing is brought into the pod."""
        if assignment.api is None:
            raise DesignError(
                f"entry {assignment.entry.name}: agent `shell` came without a gateway; start the "
                "scheduler with INFRANOISE_GATEWAY_URL and INFRANOISE_GATEWAY_SECRET"
            )
        try:
            self._talk = talk_with(assignment.api, self.options, _words_of(assignment))
        except ImportError as error:
            raise DesignError(
                f"entry {assignment.entry.name}: agent `shell` needs {error.name}: install "
                "infranoise[agents] where the worker runs"
            ) from error

    def run(self, pod: Pod, assignment: Assignment, timeout_s: float | None) -> Tried:
        """As `Agent.run` says."""
        assert assignment.api is not None, "setup refused otherwise"
        api = assignment.api
        clock = AgentClock(timeout_s, api.api_wait, api.longest_api_wait_s)
        self._note("began", model=api.model, options=self.options.model_dump())
        with asyncio.Runner() as runner:
            try:
                return self._tried(*self._work(runner, pod, assignment, clock), clock)
            finally:
                runner.run(self._talk.close())

    def files(self) -> dict[str, bytes]:
        """As `Recorder.files` says."""
        return {TRAJECTORY: "".join(self._lines).encode("utf-8", "replace")}

    def _work(
        self, runner: asyncio.Runner, pod: Pod, assignment: Assignment, clock: AgentClock
    ) -> tuple[str, str]:
        """Talk and run commands; why it ended, and what was at fault."""
        results: list[tuple[Call, str]] = []
        while self._turns < self.options.turns:
            if clock.over:
                return "out of time", ""
            if self.options.tokens is not None and self._tokens >= self.options.tokens:
                return "tokens used up", ""
            try:
                said = runner.run(self._heard(self._talk, results, clock))
            except TimeoutError:
                return "out of time", ""
            except ApiFailed as failed:
                return "API failed", str(failed)
            except RequestRefused as refused:
                return "request refused", str(refused)
            except Overdrawn as over:
                return "allowance used up", str(over)
            if not said.calls:
                return "done", ""
            results = [(call, self._run(pod, assignment, call, clock)) for call in said.calls]
        return "turns used up", ""

    async def _heard(self, talk: Talk, results: list[tuple[Call, str]], clock: AgentClock) -> Said:
        """The model's next answer; one that breaks midway is asked for again, as the SDK does for
        one that does not begin.
        """
        before_s = clock.api_wait_s
        with clock.waiting():
            async with asyncio.timeout(clock.left_waiting_s):
                for left in reversed(range(self.options.max_retries + 1)):
                    try:
                        said = await talk.answer(results)
                        break
                    except BrokeMidway as broke:
                        means = told(broke.__cause__ or broke)
                        if left == 0 or not isinstance(means, ApiFailed):
                            raise means from broke
                        self._note("broke", error=str(means))
                        await asyncio.sleep(AGAIN_AFTER_S)
                    except Exception as error:
                        raise told(error) from error
        self._turns += 1
        self._tokens += said.input_tokens + said.output_tokens
        self._last = said.text or self._last
        self._note(
            "said",
            turn=self._turns,
            text=said.text,
            commands=[call.command for call in said.calls],
            stopped=said.stopped,
            input_tokens=said.input_tokens,
            output_tokens=said.output_tokens,
            api_wait_s=round(clock.api_wait_s - before_s, 4),
        )
        return said

    def _run(self, pod: Pod, assignment: Assignment, call: Call, clock: AgentClock) -> str:
        if call.command is None:
            return NO_COMMAND
        if clock.over:
            return "error: out of time"
        left_s = clock.left_s
        limit_s = self.options.command_s if left_s is None else min(self.options.command_s, left_s)
        result = pod.exec(
            ["bash", "-c", call.command],
            timeout_s=limit_s,
            env=assignment.own_env,
            user=assignment.task.agent_user,
            cwd=assignment.task.workdir,
        )
        self._commands += 1
        shown = _shown(result, limit_s, self.options.output_bytes)
        self._note(
            "ran",
            turn=self._turns,
            command=call.command,
            exit_code=result.exit_code,
            timed_out=result.timed_out,
            wall_s=round(result.wall_s, 4),
            shown=shown,
        )
        return shown

    def _tried(self, why: str, fault: str, clock: AgentClock) -> Tried:
        self._note(
            "ended",
            why=why,
            fault=fault,
            turns=self._turns,
            commands=self._commands,
            agent_s=round(clock.elapsed_s, 4),
            api_wait_s=round(clock.api_wait_s, 4),
        )
        out_of_time = why == "out of time"
        broke = why in ("API failed", "request refused")
        summary = f"{why}: {fault}" if fault else why
        result = ExecResult(
            exit_code=None if out_of_time else int(broke),
            timed_out=out_of_time,
            wall_s=clock.elapsed_s,
            stdout=Stream(tail=self._last, total_bytes=len(self._last.encode())),
            stderr=Stream(tail=summary, total_bytes=len(summary.encode())),
        )
        return Tried(
            result,
            answered="yes" if self._commands else "no",
            fault=f"request refused: {fault}" if why == "request refused" else "",
            api_fault=fault if why == "API failed" else "",
            api_wait_s=clock.api_wait_s,
        )

    def _note(self, event: str, **facts: Any) -> None:
        line = {"at": round(time.time(), 3), "event": event, **facts}
        self._lines.append(json.dumps(line, ensure_ascii=False) + "\n")


def _words_of(assignment: Assignment) -> str:
    return assignment.task.instruction.read_text(encoding="utf-8", errors="replace")


def _shown(result: ExecResult, limit_s: float, most_bytes: int) -> str:
    """What goes back to the model: how the command ended, and the end of what it printed."""
    if result.timed_out:
        head = f"[stopped after {limit_s:.0f} s; every process in the container was stopped]"
    else:
        head = f"[exit code {result.exit_code}]"
    text = result.stdout.tail
    if result.stderr.tail:
        text += f"\n[stderr]\n{result.stderr.tail}"
    raw = text.encode("utf-8", "replace")
    if len(raw) > most_bytes:
        cut = len(raw) - most_bytes
        text = f"[… {cut} bytes left out …]\n" + raw[cut:].decode("utf-8", "replace")
    return f"{head}\n{text}" if text else head
