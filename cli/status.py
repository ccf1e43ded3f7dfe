"""`status`: where a fleet's experiments are; once, from the store and the queue server."""

import json
from dataclasses import asdict

from rich.console import Console, RenderableType
from rich.text import Text

from ..models.ledger import live
from ..scheduler.node_state import NodeState
from .fleet_text import experiment_text, experiments_table, fleet_text
from .fleet_view import ExperimentView, Fleet, look_at_experiment, look_at_fleet, open_ledger


def status(
    store: str, broker: str | None, flower: str | None, name: str | None, *, as_json: bool
) -> int:
    """Print where things are; returns the exit code."""
    engine = open_ledger(store)
    fleet = look_at_fleet(broker) if broker else None
    text: RenderableType
    if name is None:
        standings = live.standings(engine)
        document: dict[str, object] = {"experiments": [standing_json(one) for one in standings]}
        text = experiments_table(standings) if standings else Text("no experiment was submitted")
    else:
        view = look_at_experiment(engine, name, fleet)
        document, text = experiment_json(view), experiment_text(view)
    if as_json:
        print(json.dumps(document | {"fleet": fleet and fleet_json(fleet), "flower": flower}))
        return 0
    console = Console()
    console.print(text)
    if fleet:
        console.print(fleet_text(fleet))
    if flower:
        console.print(f"Flower: {flower}", markup=False, highlight=False, soft_wrap=True)
    return 0


def standing_json(one: live.Standing) -> dict[str, object]:
    """An experiment's standing as a document."""
    return asdict(one) | {"word": one.word}


def experiment_json(view: ExperimentView) -> dict[str, object]:
    """An experiment from near by as a document."""
    return {
        "experiment": standing_json(view.standing),
        "bands": [asdict(band) for band in view.bands],
        "nodes": [asdict(node) for node in view.nodes],
        "infra_causes": dict(view.causes),
        "per_minute": view.per_minute,
        "left_s": view.left_s,
        "waits": list(view.waits),
        "spent": asdict(view.spent) | {"budget_usd": view.budget_usd},
    }


def fleet_json(fleet: Fleet) -> dict[str, object]:
    """The nodes and who leads, as a document."""
    return {"leader": fleet.leader, "nodes": [node_json(node) for node in fleet.nodes]}


def node_json(node: NodeState) -> dict[str, object]:
    """A node as a document."""
    return {
        "id": node.id,
        "condition": node.condition,
        "silent_s": round(node.silent_s, 3),
        "total": asdict(node.total),
        "free": asdict(node.free),
        "runtimes": sorted(node.runtimes or ()),
        "because": node.because,
        "no_links": {kind: dict(links) for kind, links in node.hello.links.items()},
        "host": node.hello.host,
        "pid": node.hello.pid,
        "version": node.hello.version,
    }
