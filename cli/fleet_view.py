"""A look at a fleet: what the store and the queue server say now, as plain values."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Engine

from ..models.errors import DesignError
from ..models.ledger import live, reading
from ..models.ledger.api_calls import Spent, spent
from ..models.ledger.store import open_store
from ..scheduler.broker import check
from ..scheduler.feasibility import Offer, feasible
from ..scheduler.leases import Leases
from ..scheduler.node_state import NodeState
from ..scheduler.purse import Purse

RATE_OVER_S = 120.0


@dataclass(frozen=True, slots=True)
class ExperimentView:
    """One experiment from near by. `per_minute` is outcomes over the last two minutes at most.

    `bands` come in the order of reports; `waits` says why trials cannot go out, if so. `spent` is
    what its models' APIs have cost until now.
    """

    standing: live.Standing
    bands: tuple[live.BandStanding, ...]
    nodes: tuple[live.NodeStanding, ...]
    causes: Mapping[str, int]
    per_minute: float
    waits: tuple[str, ...] = ()
    spent: Spent = field(default_factory=Spent)
    budget_usd: float | None = None

    @property
    def left_s(self) -> float | None:
        """Seconds until the last outcome at this rate; None where nothing comes in."""
        owed = self.standing.planned - self.standing.n
        return 60 * owed / self.per_minute if self.per_minute else None


@dataclass(frozen=True, slots=True)
class Fleet:
    """The nodes that are known, and the scheduler that leads ("" where none does)."""

    nodes: tuple[NodeState, ...]
    leader: str


def open_ledger(store: str) -> Engine:
    """A store that is there already.

    Raises:
        DesignError: there is no such file. LedgerError: it cannot be opened.
    """
    if "://" not in store and not Path(store).is_file():
        raise DesignError(
            f"--store {store}: there is no such ledger; give the one that the scheduler was "
            "started with (INFRANOISE_STORE)"
        )
    return open_store(store)


def look_at_fleet(broker: str) -> Fleet:
    """What the queue server knows.

    Raises:
        BrokerError: it does not answer.
    """
    with leases_at(broker) as leases:
        return Fleet(tuple(sorted(leases.nodes(), key=lambda node: node.id)), leases.leader())


@contextmanager
def leases_at(broker: str) -> Iterator[Leases]:
    """The leases that a queue server keeps.

    Raises:
        BrokerError: it does not answer; names the address and the remedy.
    """
    check(broker)
    leases = Leases(broker)
    try:
        yield leases
    finally:
        leases.close()


def look_at_experiment(engine: Engine, name: str, fleet: Fleet | None = None) -> ExperimentView:
    """What the store knows of an experiment.

    Args:
        fleet: hold what is owed against its nodes.
    Raises:
        DesignError: there is none of that name.
    """
    standing = standing_of(engine, name)
    found, budget_usd = live.band_standings(engine, name), _budget_usd(engine, name)
    return ExperimentView(
        standing=standing,
        bands=tuple(found[b.name] for b in reading.bands(engine, name) if b.name in found),
        nodes=live.node_standings(engine, name),
        causes=live.infra_causes(engine, name),
        per_minute=per_minute(engine, standing),
        waits=_waits(engine, standing, fleet) if fleet else (),
        spent=spent(engine, name),
        budget_usd=budget_usd,
    )


def _budget_usd(engine: Engine, name: str) -> float | None:
    return reading.experiment(engine, name).run.budget_usd


def standing_of(engine: Engine, name: str) -> live.Standing:
    """Where an experiment is.

    Raises:
        DesignError: there is none of that name; names those that there are.
    """
    for standing in live.standings(engine, name):
        return standing
    known = ", ".join(one.name for one in live.standings(engine)) or "none"
    raise DesignError(f"no experiment {name!r} in this store; it holds: {known}")


def per_minute(engine: Engine, standing: live.Standing) -> float:
    """Outcomes a minute over the last two minutes, or since it was submitted if that is later."""
    now = time.time()
    over_s = min(RATE_OVER_S, max(1.0, now - standing.created_at))
    return live.ended_since(engine, standing.name, now - over_s) * 60 / over_s


def offers(nodes: Sequence[NodeState]) -> tuple[Offer, ...]:
    """What nodes could hold; those that have gone or are not heard of are left out."""
    return tuple(
        Offer(n.id, n.total, n.runtimes, n.hello.links)
        for n in nodes
        if n.condition in ("up", "drain")
    )


def _no_node(nodes: Sequence[NodeState]) -> tuple[str, ...]:
    drained = ", ".join(node.id for node in nodes if node.condition == "drain")
    up = f", or give drained nodes trials again (infranoise nodes up: {drained})" if drained else ""
    return (
        f"no node takes trials now: start a worker (infranoise worker){up}",
        *(f"{node.id}: {node.because}" for node in nodes if node.fresh and node.because),
    )


def _waits(engine: Engine, standing: live.Standing, fleet: Fleet) -> tuple[str, ...]:
    if standing.word == "done":
        return ()
    if standing.state != "active":
        return (f"it is {standing.state}: nothing more is sent",)
    if not fleet.leader:
        return ("no scheduler leads: start one (infranoise scheduler)",)
    able = [node for node in fleet.nodes if node.takes_trials]
    if not able:
        return _no_node(fleet.nodes)
    experiment = reading.experiment(engine, standing.name)
    tasks = reading.tasks(engine, standing.name)
    refusals = feasible(experiment, tasks, offers(able)).refusals
    waits = [f"{task}: {why}" for task, why in refusals.items()]
    taken = spent(engine, standing.name)
    if Purse.of(experiment, taken.cost_usd, taken.attempts).affords(0) == 0:
        waits.append("its budget is spent: raise run.budget_usd and submit it again")
    return tuple(waits)
