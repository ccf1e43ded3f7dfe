"""A fleet in words and tables, for status and watch."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..models.ledger.live import NodeStanding, Standing
from ..models.spec import MIB
from ..scheduler.node_state import NodeState
from .fleet_view import ExperimentView, Fleet

STYLE = {
    "up": "green",
    "drain": "yellow",
    "leaving": "yellow",
    "silent": "red",
    "other release": "red",
    "unreadable": "red",
    "left": "dim",
}


def experiments_table(standings: Sequence[Standing]) -> Table:
    """One row an experiment."""
    table = _table("experiment", "state", "outcomes", "passed", "infra errors", "under way")
    for one in standings:
        table.add_row(
            Text(one.name),
            one.word,
            f"{one.n:,}/{one.planned:,}",
            share(one.passed, one.n),
            _infra(one.infra_errors, one.n),
            str(one.under_way),
        )
    return table


def experiment_text(view: ExperimentView) -> RenderableType:
    """One experiment from near by."""
    one = view.standing
    parts: list[RenderableType] = [
        Text(f"{one.name}: {summary(view)}"),
        Padding(ProgressBar(total=max(1, one.planned), completed=one.n, width=60), (0, 0)),
        bands_table(view),
    ]
    if any(node.infra_errors for node in view.nodes):
        parts.append(matrix([band.band for band in view.bands], view.nodes))
    parts += [Text(f"waits: {why}", style="yellow") for why in view.waits]
    return Group(*parts)


def summary(view: ExperimentView) -> str:
    """The line that says how far it is."""
    one = view.standing
    causes = ", ".join(f"{count} {cause}" for cause, count in view.causes.items()) or "none"
    goes_on = one.word == "active" and view.left_s is not None
    left = f" · {clock(view.left_s or 0)} left" if goes_on else ""
    return (
        f"{one.word} · {one.n:,}/{one.planned:,} trials · {one.under_way} under way · "
        f"{view.per_minute:.1f}/min{left} · infra errors: {causes}{_money(view)}"
    )


def _money(view: ExperimentView) -> str:
    if not view.spent.calls and view.budget_usd is None:
        return ""
    of = "" if view.budget_usd is None else f" of {view.budget_usd:.2f}"
    unpriced = f" ({view.spent.unpriced:,} calls unpriced)" if view.spent.unpriced else ""
    return f" · {view.spent.cost_usd:.2f}{of} USD in {view.spent.calls:,} calls{unpriced}"


def bands_table(view: ExperimentView) -> Table:
    """One row a band."""
    table = _table("band", "outcomes", "passed", "infra errors")
    for band in view.bands:
        table.add_row(
            Text(band.band),
            f"{band.n:,}/{band.planned:,}",
            share(band.passed, band.n),
            _infra(band.infra_errors, band.n),
        )
    return table


def matrix(bands: Sequence[str], nodes: Iterable[NodeStanding]) -> Table:
    """Infra errors of attempts, a row a node and a column a band."""
    found = {(one.node, one.band): one for one in nodes}
    table = _table("infra errors on", *bands)
    for node in dict.fromkeys(node for node, _ in found):
        cells = (found.get((node, band)) for band in bands)
        table.add_row(
            Text(node), *("-" if c is None else _infra(c.infra_errors, c.ended) for c in cells)
        )
    return table


def nodes_table(nodes: Sequence[NodeState]) -> Table:
    """One row a node."""
    table = _table("node", "state", "trials", "cpus free", "MiB free", "heard", "pods", "release")
    for node in nodes:
        free, total = node.free, node.total
        table.add_row(
            Text(node.id),
            Text(node.condition, style=STYLE.get(node.condition, "")),
            f"{total.slots - free.slots}/{total.slots}",
            *(
                ("a cluster's", "a cluster's")
                if total.of_a_cluster
                else (
                    f"{free.cpu_m / 1000:g}/{total.cpu_m / 1000:g}",
                    f"{free.memory_bytes / MIB:.0f}/{total.memory_bytes / MIB:.0f}",
                )
            ),
            ago(node.silent_s),
            ", ".join(sorted(node.runtimes or ())) or "-",
            node.hello.version,
        )
    return table


def fleet_line(fleet: Fleet) -> str:
    """The nodes and the scheduler in one line."""
    counts = {kind: sum(node.condition == kind for node in fleet.nodes) for kind in STYLE}
    nodes = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) or "none"
    heard = [node for node in fleet.nodes if node.fresh]
    slots = sum(node.total.slots for node in heard)
    taken = slots - sum(node.free.slots for node in heard)
    lead = f"{fleet.leader} leads" if fleet.leader else "no scheduler leads"
    return f"nodes: {nodes} · {taken}/{slots} slots taken · {lead}"


def fleet_text(fleet: Fleet) -> Text:
    """The same, and below it the nodes of which this release can make nothing."""
    return Text("\n").join((Text(fleet_line(fleet)), *left_out(fleet.nodes)))


def left_out(nodes: Iterable[NodeState]) -> list[Text]:
    """A line for each node that is heard of and left out, with its why."""
    return [
        Text(f"{node.id} is left out: {node.because}", style="red")
        for node in nodes
        if node.fresh and node.because
    ]


def share(part: int, whole: int) -> str:
    """A part in per cent, "-" of nothing."""
    return f"{part / whole:.1%}" if whole else "-"


def ago(seconds: float) -> str:
    """How long something is past.

    >>> ago(3.4), ago(2090)
    ('3 s ago', '34:50 ago')
    """
    return f"{seconds:.0f} s ago" if seconds < 120 else f"{clock(seconds)} ago"


def clock(seconds: float) -> str:
    """Seconds as people read them."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _infra(errors: int, of: int) -> Text:
    words = f"{share(errors, of)} ({errors})" if errors else "0" if of else "-"
    return Text(words, style="red" if errors else "")


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for number, name in enumerate(names):
        numbers = number > 1 or name == "outcomes"
        table.add_column(Text(name), justify="right" if numbers else "left")
    return table
