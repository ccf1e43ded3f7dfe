"""Whether a fleet can run a plan, and what it would then confound: pure.

A trial that no node could ever hold is refused before anything is queued. A band that fits one
node only is told: its effect and the node's cannot be told apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..models.experiment import Experiment
from ..models.lease.capacity import Capacity, floor_of
from ..models.spec import MIB
from ..models.task import Task
from .outlook import bound_s
from .plan import Plan, limits_of

HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class Offer:
    """What a node could hold when it is empty; `runtimes` None: it does not tell. `no_links` is
    why it can make no links of pods; ""."""

    node: str
    total: Capacity
    runtimes: frozenset[str] | None = None
    no_links: str = ""


@dataclass(frozen=True, slots=True)
class Feasibility:
    """`refusals`: tasks that cannot run, each with its reason. `warnings`: what to know of."""

    refusals: Mapping[str, str]
    warnings: tuple[str, ...]


def feasible(experiment: Experiment, tasks: Sequence[Task], offers: Sequence[Offer]) -> Feasibility:
    """Hold every task in every band against the nodes of a fleet.

    Args:
        offers: the nodes that are known; with none there is nothing to hold against.
    """
    if not offers:
        return Feasibility({}, ("no node is known yet, so nothing was checked against the fleet",))
    able = [o for o in offers if o.runtimes is None or experiment.pods.runtime in o.runtimes]
    if not able:
        names = ", ".join(offer.node for offer in offers)
        why = f"no node offers {experiment.pods.runtime} pods (known: {names})"
        return Feasibility({task.name: why for task in tasks}, ())
    lacking = [o for o in able if o.no_links] if experiment.needs_links else []
    if len(lacking) == len(able):
        why = f"no node can make or cap links of pods ({lacking[0].node}: {lacking[0].no_links})"
        return Feasibility({task.name: why for task in tasks}, ())
    homes = {
        (task.name, band.name): _homes(experiment, task, band.name, able)
        for task in tasks
        for band in experiment.bands
    }
    refusals = {
        task.name: _why(experiment, task, band.name, able)
        for task in tasks
        for band in reversed(experiment.bands)
        if not homes[task.name, band.name]
    }
    kept = {key: nodes for key, nodes in homes.items() if key[0] not in refusals}
    told = [
        f"{o.node} cannot make or cap links of pods ({o.no_links}): what is sent there ends as "
        "start_failed; drain it, or mend that"
        for o in lacking
    ]
    return Feasibility(refusals, (*told, *_confounded(experiment, kept, able)))


def within_one_hour(plan: Plan, offers: Sequence[Offer]) -> str:
    """What to know of a plan that is over within an hour whatever its trials do; "" of others.

    Bands stand side by side in every block, so that no band has an hour of its own; but all of such
    a plan has one hour in common.
    """
    if not offers:
        return ""
    tasks, longest_s = {task.name: task for task in plan.tasks}, 0.0
    for wave in plan.waves:
        slots = [offer.total.slots for offer in offers]
        width = sum(min(wave.concurrency or n, n) for n in slots)
        for trial in wave.trials:
            longest_s += bound_s(plan, tasks, trial.key) / width
            if longest_s > HOUR_S:
                return ""
    return (
        "even at its time limits all of this is over within one hour: what that hour does to "
        "models' APIs and neighbours is in every trial alike; more samples, or a second run at "
        "another time of day, would show it"
    )


def _homes(experiment: Experiment, task: Task, band: str, able: Sequence[Offer]) -> frozenset[str]:
    floor = floor_of(limits_of(experiment, task, band))
    return frozenset(offer.node for offer in able if offer.total.holds(floor))


def _why(experiment: Experiment, task: Task, band: str, able: Sequence[Offer]) -> str:
    floor = floor_of(limits_of(experiment, task, band))
    largest = max(able, key=lambda offer: (offer.total.memory_bytes, offer.total.cpu_m))
    return (
        f"band {band} reserves {_words(floor)}, and no node that offers "
        f"{experiment.pods.runtime} pods holds that (the largest, {largest.node}, has "
        f"{_words(largest.total)}); lower the floor in [[bands]], or add a larger node"
    )


def _confounded(
    experiment: Experiment,
    homes: Mapping[tuple[str, str], frozenset[str]],
    able: Sequence[Offer],
) -> list[str]:
    if experiment.pods.runtime == "kubernetes":  # one worker has a whole cluster behind it
        return list(_too_few_slots(experiment, able))
    if len(able) == 1 and homes:
        return [
            *_too_few_slots(experiment, able),
            f"one node alone ({able[0].node}) can run this: what is found holds for that node; "
            "with two or more, bands are spread evenly over them",
        ]
    told = list(_too_few_slots(experiment, able))
    for band in experiment.bands:
        lonely = {
            task: next(iter(nodes))
            for (task, name), nodes in homes.items()
            if name == band.name and len(nodes) == 1
        }
        if lonely:
            tasks = len({task for task, _ in homes})
            nodes = ", ".join(sorted(set(lonely.values())))
            told.append(
                f"band {band.name} fits one node alone ({nodes}) for {len(lonely)} of {tasks} "
                "tasks: there the band's effect and the node's cannot be told apart; lower the "
                "floor, or add a node of that size"
            )
    return told


def _too_few_slots(experiment: Experiment, able: Sequence[Offer]) -> Iterator[str]:
    most = max(experiment.factors.concurrency, default=0)
    small = [offer for offer in able if offer.total.slots < most]
    if small:
        nodes = ", ".join(f"{offer.node} ({offer.total.slots})" for offer in small)
        yield (
            f"concurrency {most} is more than the slots of {nodes}: fewer will run there; start "
            "these workers with more --slots"
        )


def _words(capacity: Capacity) -> str:
    return f"{capacity.cpu_m / 1000:g} cpus and {capacity.memory_bytes / MIB:.0f} MiB"
