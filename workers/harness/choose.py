"""Which agent an entry means."""

import importlib
from collections.abc import Callable
from typing import cast

from ...models.entry import Entry
from ...models.errors import DesignError
from .agent import Agent
from .builtin import CommandAgent, Nop, Oracle, Policy
from .shell import Shell

AGENTS: dict[str, Callable[[], Agent]] = {
    "oracle": Oracle,
    "nop": Nop,
    "command": CommandAgent,
    "policy": Policy,
}
SHELL, HARBOR = "shell", "harbor:"


def choose(entry: Entry) -> Agent:
    """A fresh agent for one attempt of this entry.

    `<module>:<Class>` is imported on the node and called with the entry's `options` as keywords.

    Raises:
        DesignError: no such agent, or it cannot be made; names what there is, and the remedy.
    """
    built_in = AGENTS.get(entry.agent)
    if built_in is not None:
        return built_in()
    if entry.agent == SHELL:
        return Shell(entry.options)
    if entry.agent.startswith(HARBOR):
        from .harbor import HarborAgent

        return HarborAgent(entry.agent.removeprefix(HARBOR), entry.options)
    module, colon, name = entry.agent.partition(":")
    if not colon:
        known = ", ".join((*AGENTS, SHELL))
        raise DesignError(
            f"entry {entry.name}: no agent {entry.agent!r}; use one of {known}, harbor:<name>, "
            "or <module>:<Class>"
        )
    try:
        agent = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise DesignError(
            f"entry {entry.name}: agent {entry.agent!r} cannot be imported here: {error}; install "
            "it where the worker runs, or put its folder on PYTHONPATH"
        ) from error
    try:
        return cast(Agent, agent(**entry.options))
    except Exception as error:  # a user's class
        raise DesignError(
            f"entry {entry.name}: agent {entry.agent!r} cannot be made of its options: "
            f"{type(error).__name__}: {error}; correct options = {{…}} of the entry"
        ) from error
