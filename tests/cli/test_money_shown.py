"""What `status` and `watch` say of money, and why an experiment waits for more of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from infranoise.cli.fleet_text import summary
from infranoise.cli.fleet_view import Fleet, look_at_experiment
from infranoise.cli.status import experiment_json
from infranoise.models.api_call import ApiCall
from infranoise.models.experiment import Experiment
from infranoise.models.lease.capacity import Capacity
from infranoise.models.ledger.api_calls import take_calls
from infranoise.models.ledger.attempts import owed, place
from infranoise.models.ledger.enrol import enrol
from infranoise.models.ledger.store import open_store
from infranoise.models.provider import Tokens
from infranoise.models.task import Task
from infranoise.scheduler.hello import Hello
from infranoise.scheduler.node_state import NodeState
from infranoise.scheduler.plan import plan

ROOM = Capacity(cpu_m=8000, memory_bytes=1 << 40, slots=4)
MODELS = {
    "providers": {"p": {"dialect": "openai", "base_url": "http://p/v1"}},
    "models": {"m": {"provider": "p", "price": {"input": 1.0, "output": 1.0}}},
    "entries": [{"agent": "shell", "model": "m"}],
}


@pytest.mark.parametrize(("budget_usd", "waits"), [(10.0, False), (2.0, True)])
def test_the_cost_so_far_and_a_spent_budget_are_shown(
    make_experiment: Callable[..., Experiment],
    make_task: Callable[..., Task],
    tmp_path: Path,
    budget_usd: float,
    waits: bool,
) -> None:
    engine = open_store(tmp_path / "ledger.sqlite")
    experiment = make_experiment(**MODELS, run={"budget_usd": budget_usd}, limits={"usd": 1.0})
    tasks = [make_task()]
    enrol(engine, experiment, tasks, plan(experiment, tasks).waves)
    first = owed(engine, "small")[:1]
    place(engine, "small", "n", first)
    call = ApiCall(id="1", experiment="small", attempt=f"{first[0].id}.1", provider="p", model="m",
                   route="/v1/chat/completions", at=1.0, ending="complete", status=200,
                   total_s=1.0, tokens=Tokens(input=5), cost_usd=1.5)  # fmt: skip
    take_calls(engine, [call])
    node = NodeState("n", "up", ROOM, ROOM, 0.1, Hello(runtimes={"process": ""}))
    view = look_at_experiment(engine, "small", Fleet((node,), "leader"))
    assert f"1.50 of {budget_usd:.2f} USD in 1 calls" in summary(view)
    assert any("its budget is spent" in why for why in view.waits) == waits
    assert experiment_json(view)["spent"] == {
        "calls": 1, "attempts": 1, "tokens": 5, "cost_usd": 1.5, "unpriced": 0,
        "budget_usd": budget_usd,
    }  # fmt: skip
    engine.dispose()
