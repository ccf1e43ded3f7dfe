"""An entry: an agent with a model, as it competes on a leaderboard."""

from typing import Annotated

from pydantic import Field, model_validator

from .shell_options import ShellOptions
from .value import Value

BUILT_IN = ("oracle", "nop", "command", "policy", "shell")


class Entry(Value):
    """Agent x model.

    `agent` is one of: `oracle` (the task's own solution), `nop`, `command` (a command line run in
    the pod), `policy` (a seeded script of a bundled benchmark; `model` names the policy), `shell`
    (a chat model that runs commands in the pod; `model` is one of `[models]`), `harbor:<name>` (an
    agent of the Harbor that nodes have), `<module>:<Class>` (an agent of the user's). `name` is the
    label everywhere else; it defaults to the agent, with the model when there is one.
    """

    agent: Annotated[str, Field(min_length=1)]
    model: str = "none"
    name: str = ""
    command: tuple[str, ...] | None = None
    env: dict[str, str] = Field(default_factory=dict)
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _named_after_what_it_is(cls, raw: object) -> object:
        if not isinstance(raw, dict) or raw.get("name"):
            return raw
        agent, model = raw.get("agent", ""), raw.get("model", "none")
        if agent == "policy":
            return raw | {"name": model}
        return raw | {"name": agent if model == "none" else f"{agent}/{model}"}

    @model_validator(mode="after")
    def _a_command_has_words(self) -> "Entry":
        if self.agent == "command" and not self.command:
            raise ValueError('agent "command" needs command = ["program", "argument", …]')
        if self.agent == "policy" and self.model == "none":
            raise ValueError('agent "policy" needs model = the policy\'s name, such as "lean"')
        if self.agent == "shell":
            ShellOptions.model_validate(self.options)
        return self

    @property
    def is_policy(self) -> bool:
        """A seeded script, not a model: every page that shows it says so."""
        return self.agent == "policy"
