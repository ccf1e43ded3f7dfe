"""Whether a fleet can run a plan, and what it would then confound: pure.

A trial that no node could ever hold is refused before anything is queued. A band that fits one
node only is told: its effect and the node's cannot be told apart.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..models.experiment import Experiment
from ..models.lease.capacity import Capacity, floor_of
from ..models.link import link_of
from ..models.spec import MIB
from ..models.task import Task
from .outlook import bound_s
from .plan import Plan, limits_of

HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class Offer:
    """What a node could hold when it is empty; `runtimes` None: it does not tell. `no_links` has
    the links that it cannot make, by kind of pod and name, each with its why."""

    node: str
    total: Capacity
    runtimes: frozenset[str] | None = None
    no_links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def why_no(self, link: str, runtime: str) -> str:
        """Why pods of a kind cannot have a link here; "" if they can."""
        return self.no_links.get(runtime, {}).get(link, "")


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
    linking = {task.name: _linking(experiment, task, able) for task in tasks}
    homes = {
        (task.name, band.name): _homes(experiment, task, band.name, linking[task.name])
        for task in tasks
        for band in experiment.bands
    }
    refusals = {
        task.name: _why(experiment, task, band.name, able, linking[task.name])
        for task in tasks
        for band in reversed(experiment.bands)
        if not homes[task.name, band.name]
    }
    kept = {key: nodes for key, nodes in homes.items() if key[0] not in refusals}
    told = _passed_by(experiment, (task for task in tasks if task.name not in refusals), able)
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


def _link(experiment: Experiment, task: Task) -> str:
    return link_of(task, experiment.pods.network, capped=bool(experiment.factors.egress_mbps))


def _linking(experiment: Experiment, task: Task, able: Sequence[Offer]) -> list[Offer]:
    """The nodes where a task's pods can have their link."""
    link, runtime = _link(experiment, task), experiment.pods.runtime
    return [offer for offer in able if not offer.why_no(link, runtime)]


def _passed_by(
    experiment: Experiment, tasks: Iterable[Task], able: Sequence[Offer]
) -> Iterator[str]:
    """Nodes that get nothing of some tasks, for their pods could not have their link there."""
    runtime = experiment.pods.runtime
    for link in dict.fromkeys(_link(experiment, task) for task in tasks):
        for offer in able:
            if why := offer.why_no(link, runtime):
                yield (
                    f"{offer.node} gets none of the trials whose pods need the link {link!r}, "
                    f"which {runtime} pods cannot have there: {why}"
                )


def _why(
    experiment: Experiment,
    task: Task,
    band: str,
    able: Sequence[Offer],
    linking: Sequence[Offer],
) -> str:
    if not linking:
        link, runtime = _link(experiment, task), experiment.pods.runtime
        why = "; ".join(f"{offer.node}: {offer.why_no(link, runtime)}" for offer in able[:3])
        return f"its pods need the link {link!r}, and no node can give {runtime} pods that ({why})"
    able = linking
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
