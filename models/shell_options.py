"""What the `shell` agent may be told in an experiment file, under an entry's `options`."""

from typing import Annotated

from pydantic import Field

from .value import Value

PROMPT = """You are working in a Linux container to complete a task.
Use the tool `run` to execute shell commands; each runs in a new bash process in the working
directory, so `cd` and variables do not last. You see the end of what a command prints.
Work until the task is done and checked, then answer without using the tool."""


class ShellOptions(Value):
    """Prompt and limits of the `shell` agent.

    `turns` is how often the model may answer; `answer_tokens` bounds one answer; `tokens` all of
    them with what was asked. A command is stopped after `command_s`; `output_bytes` of what it
    prints go back. `max_retries` is the SDK's own, also for a stream that breaks. `temperature` is
    the provider's unless given.
    """

    prompt: str = PROMPT
    turns: Annotated[int, Field(ge=1)] = 100
    answer_tokens: Annotated[int, Field(ge=1)] = 8192
    tokens: Annotated[int, Field(ge=1)] | None = None
    command_s: Annotated[float, Field(gt=0)] = 300.0
    output_bytes: Annotated[int, Field(ge=256)] = 16_384
    max_retries: Annotated[int, Field(ge=0, le=50)] = 2
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
