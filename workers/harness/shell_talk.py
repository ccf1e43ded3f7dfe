"""A conversation of the `shell` agent with its model, whatever the API's dialect."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...models.api_access import ApiAccess
from ...models.shell_options import ShellOptions

TOOL = "run"
WHAT_IT_DOES = "Execute a shell command with bash and return its exit code and output."
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"command": {"type": "string", "description": "What bash is to execute."}},
    "required": ["command"],
}
REQUEST_FAULTS = (400, 404, 405, 413, 422)  # what was asked is at fault, not the API
OVERDRAWN = 402


@dataclass(frozen=True, slots=True)
class Call:
    """A command that the model wants run. `command` is None where it asked for nothing sensible."""

    id: str
    command: str | None


@dataclass(frozen=True, slots=True)
class Said:
    """One answer of the model."""

    text: str
    calls: tuple[Call, ...]
    input_tokens: int
    output_tokens: int
    stopped: str


class Talk(Protocol):
    """A conversation that has begun with prompt and task."""

    async def answer(self, results: Sequence[tuple[Call, str]]) -> Said:
        """Tell what the last commands printed, and hear the model.

        Raises:
            BrokeMidway: after the answer had begun. Else the SDK's own errors; see `told`.
        """
        ...

    async def close(self) -> None:
        """Give the connections back."""
        ...


class ApiFailed(Exception):
    """The API did not answer, or said that it cannot; the SDK's own retries are used up."""


class BrokeMidway(Exception):
    """An answer broke off after it had begun: the SDK does not ask again then. The error is its
    cause.
    """


class RequestRefused(Exception):
    """The API refused what was asked: too long, or not of its form."""


class Overdrawn(Exception):
    """The attempt's allowance is used up."""


def told(error: BaseException) -> Exception:
    """What an SDK's error, or one of the connection below it, means here.

    Raises:
        Exception: the error itself, where it is neither: a fault of our own.
    """
    status = getattr(error, "status_code", None)
    words = f"{type(error).__name__}: {str(error)[:300]}"
    if status == OVERDRAWN:
        return Overdrawn(words)
    if status in REQUEST_FAULTS:
        return RequestRefused(words)
    module = type(error).__module__.partition(".")[0]
    # A stream that breaks, or holds no JSON, comes as an error of the layers below the SDK.
    if module in ("anthropic", "openai") or module.startswith(("httpx", "httpcore", "h11")):
        return ApiFailed(words)
    if isinstance(error, OSError | ValueError | AssertionError | RuntimeError):
        return ApiFailed(words)
    raise error


def talk_with(access: ApiAccess, options: ShellOptions, task: str) -> Talk:
    """A conversation over a task's instruction.

    Raises:
        ImportError: the SDK is not installed here.
    """
    if access.dialect == "anthropic":
        from .shell_anthropic import AnthropicTalk

        return AnthropicTalk(access, options, task)
    from .shell_openai import OpenAiTalk

    return OpenAiTalk(access, options, task)
