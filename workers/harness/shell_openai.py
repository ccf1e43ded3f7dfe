"""The `shell` agent over OpenAI's chat API and all that speak it, by OpenAI's own SDK."""

import json
from collections.abc import Sequence
from typing import Any

import openai

from ...models.api_access import ApiAccess
from ...models.shell_options import ShellOptions
from .shell_talk import PARAMETERS, TOOL, WHAT_IT_DOES, BrokeMidway, Call, Said

FUNCTION = {"name": TOOL, "description": WHAT_IT_DOES, "parameters": PARAMETERS}
TOOLS: Any = [{"type": "function", "function": FUNCTION}]


class OpenAiTalk:
    """One conversation; see `Talk`."""

    def __init__(self, access: ApiAccess, options: ShellOptions, task: str) -> None:
        self._client = openai.AsyncOpenAI(
            api_key=access.token,
            base_url=access.base_url,
            max_retries=options.max_retries,
            timeout=None,  # the agent's clock bounds a call; the gateway ends a silent one
            http_client=openai.DefaultAsyncHttpxClient(trust_env=False),
        )
        self._asked: dict[str, Any] = {
            "model": access.model,
            "max_tokens": options.answer_tokens,
            "tools": TOOLS,
            "stream_options": {"include_usage": True},
        }
        if options.temperature is not None:
            self._asked["temperature"] = options.temperature
        self._messages: list[Any] = [
            {"role": "system", "content": options.prompt},
            {"role": "user", "content": task},
        ]

    async def answer(self, results: Sequence[tuple[Call, str]]) -> Said:
        """As `Talk.answer` says; SDK errors come as they are."""
        told: list[Any] = [{"role": "tool", "tool_call_id": call.id, "content": text}
                for call, text in results]  # fmt: skip
        async with self._client.chat.completions.stream(
            messages=[*self._messages, *told], **self._asked
        ) as stream:
            try:
                completion = await stream.get_final_completion()
                if not completion.choices or completion.choices[0].finish_reason is None:
                    raise ValueError("the stream ended before the message did")
            except Exception as error:
                raise BrokeMidway from error
        choice, usage = completion.choices[0], completion.usage
        calls = choice.message.tool_calls or []
        self._messages += [*told, _sent_back(choice.message)]
        return Said(
            text=choice.message.content or "",
            calls=tuple(Call(call.id, _command(call.function.arguments)) for call in calls),
            input_tokens=usage.prompt_tokens if usage else 0,
            output_tokens=usage.completion_tokens if usage else 0,
            stopped=str(choice.finish_reason),
        )

    async def close(self) -> None:
        """As `Talk.close` says."""
        await self._client.close()


def _sent_back(message: Any) -> dict[str, Any]:
    """An answer as the next request repeats it."""
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.function.name, "arguments": call.function.arguments},
        }
        for call in message.tool_calls or []
    ]
    told = {"role": "assistant", "content": message.content}
    return told | ({"tool_calls": calls} if calls else {})


def _command(arguments: str) -> str | None:
    try:
        given = json.loads(arguments)
    except ValueError:
        return None
    command = given.get("command") if isinstance(given, dict) else None
    return command if isinstance(command, str) and command.strip() else None
