"""Feasibility: what no node can hold is refused with a reason; what would be confounded is told."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from infranoise.models.band import Band
from infranoise.models.experiment import Experiment
from infranoise.models.lease.capacity import Capacity
from infranoise.models.spec import Spec
from infranoise.models.task import Task
from infranoise.scheduler.feasibility import Feasibility, Offer, feasible, within_one_hour
from infranoise.scheduler.plan import plan

GIB = 1 << 30
Check = Callable[..., Feasibility]


def node(name: str, gib: float = 8, cores: int = 4, slots: int = 4, *pods: str) -> Offer:
    total = Capacity(cores * 1000, int(gib * GIB), slots)
    return Offer(name, total, frozenset(pods or ("process", "docker")))


@pytest.fixture
def check(make_experiment: Callable[..., Experiment], make_task: Callable[..., Task]) -> Check:
    """One task of 1 GiB in floors of 1 and 4 times that, against some nodes."""

    def run(*nodes: Offer, **more: object) -> Feasibility:
        bands = [
            {"name": name, "memory": {"floor": floor, "ceiling": 8}}
            for name, floor in (("small", 1), ("large", 4))
        ]
        task = make_task(spec=Spec(memory_mib=1024, agent_timeout_s=30))
        return feasible(make_experiment(bands=bands, **more), [task], nodes)

    return run


def test_what_fits_on_several_nodes_is_nothing_to_speak_of(check: Check) -> None:
    assert check(node("a"), node("b")) == Feasibility({}, ())


def test_a_floor_that_no_node_holds_is_refused_with_the_largest_there_is(check: Check) -> None:
    refused = check(node("a", gib=2), node("b", gib=3)).refusals["suite/one"]
    assert refused.startswith("band large reserves 0 cpus and 4096 MiB, and no node that offers")
    assert "the largest, b, has 4 cpus and 3072 MiB" in refused


def test_pods_that_nobody_offers_are_refused(check: Check) -> None:
    found = check(node("a", 8, 4, 4, "docker"), node("b", 8, 4, 4, "docker"))
    assert found.refusals["suite/one"] == "no node offers process pods (known: a, b)"


def test_a_node_that_does_not_tell_is_taken_to_offer_all(check: Check) -> None:
    silent = Offer("a", node("a").total)
    assert not check(silent, node("b")).refusals


def test_a_band_that_fits_one_node_alone_is_told(check: Check) -> None:
    (warning,) = check(node("a"), node("b", gib=2), node("c", gib=2)).warnings
    assert warning.startswith("band large fits one node alone (a) for 1 of 1 tasks")


def test_a_single_node_is_told_once(check: Check) -> None:
    (warning,) = check(node("a"), node("b", 8, 4, 4, "docker")).warnings
    assert warning.startswith("one node alone (a) can run this")


def test_too_few_slots_for_a_concurrency_are_told(check: Check) -> None:
    (warning,) = check(node("a"), node("b", slots=1), factors={"concurrency": [1, 4]}).warnings
    assert warning.startswith("concurrency 4 is more than the slots of b (1)")


def test_without_nodes_nothing_is_checked_and_that_is_said(check: Check) -> None:
    found = check()
    assert not found.refusals
    assert "no node is known yet" in found.warnings[0]


@pytest.mark.parametrize(("samples", "told"), [(1, True), (200, False)])
def test_a_plan_that_is_over_within_one_hour_is_told(
    make_experiment: Callable[..., Experiment],
    make_task: Callable[..., Task],
    samples: int,
    told: bool,
) -> None:
    tasks = [make_task(spec=Spec(memory_mib=1024, agent_timeout_s=30))]
    made = plan(make_experiment(samples=samples, bands=[Band.shorthand("1x")]), tasks)
    words = within_one_hour(made, [node("a"), node("b")])
    assert ("over within one hour" in words) == told


def test_links_that_no_node_can_make_are_refused_and_those_that_some_cannot_are_told(
    check: Check,
) -> None:
    refused = {"process": {"internal, capped": "links are made by root alone"}}
    weak = replace(node("weak"), no_links=refused)
    asked: dict[str, object] = {
        "factors": {"egress_mbps": ["unlimited", 10]},
        "pods": {"runtime": "process", "network": "internal"},
    }
    assert "weak: links are made by root" in check(weak, **asked).refusals["suite/one"]
    found = check(weak, node("a"), node("b"), **asked)
    assert not found.refusals
    assert "weak gets none of the trials whose pods need the link" in found.warnings[0]
    assert check(weak, node("a"), node("b")) == Feasibility({}, ())


def test_a_node_that_can_make_the_link_must_hold_the_floor_as_well(check: Check) -> None:
    refused = {"process": {"internal": "links are made by root alone"}}
    large = replace(node("large"), no_links=refused)
    found = check(large, node("small", gib=2), pods={"runtime": "process", "network": "internal"})
    assert "the largest, small, has 4 cpus and 2048 MiB" in found.refusals["suite/one"]
