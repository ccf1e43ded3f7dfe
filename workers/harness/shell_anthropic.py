"""The `shell` agent over Anthropic's Messages API, by its own SDK."""

from collections.abc import Sequence
from typing import Any

import anthropic

from ...models.api_access import ApiAccess
from ...models.shell_options import ShellOptions
from .shell_talk import PARAMETERS, TOOL, WHAT_IT_DOES, BrokeMidway, Call, Said

TOOLS: Any = [{"name": TOOL, "description": WHAT_IT_DOES, "input_schema": PARAMETERS}]


class AnthropicTalk:
    """One conversation; see `Talk`."""

    def __init__(self, access: ApiAccess, options: ShellOptions, task: str) -> None:
        self._client = anthropic.AsyncAnthropic(
            api_key=access.token,
            base_url=access.base_url,
            max_retries=options.max_retries,
            timeout=None,  # the agent's clock bounds a call; the gateway ends a silent one
            http_client=anthropic.DefaultAsyncHttpxClient(trust_env=False),
        )
        self._asked: dict[str, Any] = {
            "model": access.model,
            "system": options.prompt,
            "max_tokens": options.answer_tokens,
            "tools": TOOLS,
        }
        if options.temperature is not None:
            self._asked["temperature"] = options.temperature
        self._messages: list[Any] = [{"role": "user", "content": task}]

    async def answer(self, results: Sequence[tuple[Call, str]]) -> Said:
        """As `Talk.answer` says; SDK errors come as they are."""
        told: list[Any] = []
        if results:
            told.append({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": call.id, "content": text}
                for call, text in results
            ]})  # fmt: skip
        async with self._client.messages.stream(
            messages=[*self._messages, *told], **self._asked
        ) as stream:
            try:
                message = await stream.get_final_message()
                if message.stop_reason is None:
                    raise ValueError("the stream ended before the message did")
            except Exception as error:
                raise BrokeMidway from error
        content = [_sent_back(block) for block in message.content]
        self._messages += [*told, {"role": "assistant", "content": content}]
        texts = [block.text for block in message.content if block.type == "text"]
        calls = [block for block in message.content if block.type == "tool_use"]
        return Said(
            text="\n".join(texts),
            calls=tuple(Call(block.id, _command(block.input)) for block in calls),
            input_tokens=message.usage.input_tokens if message.usage else 0,
            output_tokens=message.usage.output_tokens if message.usage else 0,
            stopped=str(message.stop_reason),
        )

    async def close(self) -> None:
        """As `Talk.close` says."""
        await self._client.close()


def _sent_back(block: Any) -> dict[str, Any]:
    """A block of an answer as the next request repeats it."""
    if block.type == "text":
        return {"type": "text", "text": block.text}
    if block.type == "tool_use":
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
    kept: dict[str, Any] = block.model_dump(exclude_none=True)
    return kept


def _command(given: object) -> str | None:
    command = given.get("command") if isinstance(given, dict) else None
    return command if isinstance(command, str) and command.strip() else None
