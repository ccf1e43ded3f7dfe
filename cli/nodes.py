"""`nodes`: the nodes of a fleet: list, show, probe, drain, up, forget."""

import json
import threading
import time
import uuid
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..models.errors import DesignError
from ..models.probe import Probe
from ..scheduler.envelope import probe_envelope
from ..scheduler.leases import Leases
from ..scheduler.node_state import NodeState
from .fleet_text import left_out, nodes_table
from .fleet_view import leases_at
from .status import node_json
from .stopping import INTERRUPTED, stop_on_signals

LOOK_EVERY_S = 1.0
ASK_EVERY_S = 0.1


def listed(broker: str, *, as_json: bool) -> int:
    """Print every node; returns the exit code."""
    with leases_at(broker) as leases:
        nodes = sorted(leases.nodes(), key=lambda node: node.id)
    if as_json:
        print(json.dumps([node_json(node) for node in nodes]))
    elif nodes:
        Console().print(nodes_table(nodes), *left_out(nodes))
    else:
        print("no node has said hello yet: start a worker (infranoise worker)")
    return 0


def show(broker: str, node: str, *, as_json: bool) -> int:
    """Print what one node is, holds and offers; returns the exit code."""
    with leases_at(broker) as leases:
        found, held = _one(leases, node), leases.holds(node)
    profile, offered = found.hello.profile, found.hello.runtimes or {}
    if as_json:
        told = profile.model_dump(mode="json") if profile else None
        document = {
            "profile": told,
            "probe": _speed_json(found),
            "runtimes": dict(offered),
            "under_way": held,
        }
        print(json.dumps(node_json(found) | document))
        return 0
    console, table = Console(), Table(box=None, show_header=False, pad_edge=False)
    console.print(nodes_table([found]), *left_out([found]))
    for name, why in offered.items():
        table.add_row(Text(f"{name} pods"), Text(why or "offered"))
        for link, why_not in found.hello.links.get(name, {}).items():
            table.add_row(Text(f"  {link}"), Text(f"not: {why_not}"))
    for name, value in _speed(found.hello.probe).items():
        table.add_row(Text(name), Text(value))
    for name, value in (profile.model_dump() if profile else {}).items():
        table.add_row(Text(name), Text("not readable there" if value is None else str(value)))
    table.add_row(Text("under way"), Text("\n".join(held) or "nothing"))
    console.print(table)
    return 0


def probe(broker: str, node: str, *, beside: bool, within_s: float, as_json: bool) -> int:
    """Have a node's speed probed now, and print it; returns the exit code.

    Args:
        beside: also where attempts run, beside them.
    Raises:
        DesignError: attempts run there, or it does not answer in time.
    """
    id_, deadline = uuid.uuid4().hex, time.monotonic() + within_s
    with leases_at(broker) as leases, stop_on_signals() as stop:
        if not _one(leases, node).fresh:
            raise DesignError(f"{node} is not heard of; start its worker")
        leases.push([(node, probe_envelope(node, id_, beside=beside))])
        while (found := _one(leases, node)).hello.asked.id != id_:
            if time.monotonic() > deadline:
                raise DesignError(f"{node} did not answer within {within_s:g} s")
            if stop.wait(ASK_EVERY_S):
                return INTERRUPTED
    if why := found.hello.asked.why:
        raise DesignError(
            f"{node} was not probed: {why}; ask again later, drain it first, or probe beside them "
            "with --now"
        )
    if as_json:
        print(json.dumps({"node": node, "probe": _speed_json(found)}))
        return 0
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in _speed(found.hello.probe).items():
        table.add_row(Text(name), Text(value))
    Console().print(table)
    return 0


def _speed_json(node: NodeState) -> dict[str, object] | None:
    return node.hello.probe.model_dump(mode="json") if node.hello.probe else None


def _speed(found: Probe | None) -> dict[str, str]:
    """A probe as rows of words; none where the node was never probed."""
    if found is None:
        return {}
    at = datetime.fromtimestamp(found.at, UTC).isoformat(sep=" ", timespec="seconds")
    beside = f", beside {found.co_running} attempts" if found.co_running else ""
    rows = {"probed at": f"{at}, {found.took_s:.2g} s of fixed work{beside}"}
    units = (("cpu", found.cpu_ops_s, "ops/s"), ("memory", found.memory_mb_s, "MB/s"))
    for name, spread, unit in (*units, ("disk", found.disk_mb_s, "MB/s")):
        rows[f"{name} speed"] = (
            "not writable"
            if spread is None
            else f"{spread.median:,.0f} {unit} ({spread.low:,.0f} to {spread.high:,.0f})"
        )
    return rows


def drain(broker: str, node: str, *, wait: bool, as_json: bool) -> int:
    """Give a node nothing more, until it is set up again; returns the exit code."""
    with leases_at(broker) as leases, stop_on_signals() as stop:
        _set(leases, node, "drain")
        if wait and not _empty(leases, node, stop):
            return INTERRUPTED
        held = leases.holds(node)
    if as_json:
        print(json.dumps({"node": node, "state": "drain", "under_way": held}))
    else:
        print(f"{node} gets nothing more; {len(held)} attempts are under way there")
    return 0


def up(broker: str, node: str, *, as_json: bool) -> int:
    """Give a node trials again; returns the exit code."""
    with leases_at(broker) as leases:
        _set(leases, node, "up")
    print(json.dumps({"node": node, "state": "up"}) if as_json else f"{node} gets trials again")
    return 0


def forget(broker: str, node: str, *, as_json: bool) -> int:
    """Drop a node that is gone for good; returns the exit code.

    Raises:
        DesignError: it is alive.
    """
    with leases_at(broker) as leases:
        if _one(leases, node).fresh:
            raise DesignError(f"{node} is alive and would say hello again; stop its worker first")
        leases.forget(node)
    print(json.dumps({"node": node, "state": None}) if as_json else f"{node} is forgotten")
    return 0


def _set(leases: Leases, node: str, state: str) -> None:
    if _one(leases, node).state == "leaving":
        raise DesignError(
            f"{node} is going or gone, as its worker was told; start the worker again"
        )
    leases.set_state(node, state)


def _one(leases: Leases, node: str) -> NodeState:
    nodes = {one.id: one for one in leases.nodes()}
    if node not in nodes:
        known = ", ".join(sorted(nodes)) or "none"
        raise DesignError(f"no node {node!r} in this fleet; it has: {known}")
    return nodes[node]


def _empty(leases: Leases, node: str, stop: threading.Event) -> bool:
    while leases.holds(node):
        if stop.wait(LOOK_EVERY_S):
            return False
    return True
