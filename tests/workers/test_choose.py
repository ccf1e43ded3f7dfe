"""Which agent an entry means, and what is said of one that cannot be had."""

import sys
import types

import pytest

from infranoise.models.entry import BUILT_IN, Entry
from infranoise.models.errors import DesignError
from infranoise.workers.harness.choose import AGENTS, SHELL, choose


class Picky:
    def __init__(self, *, turns: int) -> None:
        self.turns = turns


@pytest.fixture(autouse=True)
def their_module(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("their_agents")
    module.Picky = Picky  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "their_agents", module)


def test_the_agents_that_a_file_may_name_are_those_there_are() -> None:
    assert set(BUILT_IN) == {*AGENTS, SHELL}


def test_a_users_class_is_made_with_its_options() -> None:
    agent = choose(Entry(agent="their_agents:Picky", options={"turns": 3}))
    assert isinstance(agent, Picky)
    assert agent.turns == 3


@pytest.mark.parametrize(
    ("agent", "options", "told"),
    [
        ("nowhere:Agent", {}, "cannot be imported here: No module named 'nowhere'"),
        ("their_agents:Other", {}, "has no attribute 'Other'"),
        ("their_agents:Picky", {"turn": 3}, "unexpected keyword argument 'turn'"),
        ("orcale", {}, "no agent 'orcale'"),
    ],
)
def test_what_cannot_be_had_is_told(agent: str, options: dict[str, int], told: str) -> None:
    with pytest.raises(DesignError, match=told):
        choose(Entry(agent=agent, options=options))
