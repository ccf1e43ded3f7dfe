"""Nodes with addresses of their own: what a cut, a half cut and a slow link do to trials.

One fleet lives through all of it at once: while trials run on every node, one node's cable is cut,
another's words do not arrive, nothing arrives at the third, and the fourth's cable is slow. Then
all are healed.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import pytest
from chaos.stage import Stage
from chaos.verdict import judge
from node_links import Links, missing_for_links
from own_postgres import OwnPostgres
from own_valkey import OwnValkey

from infranoise.models.ledger import reading
from infranoise.models.ledger.reading import AttemptLine

CUT, MUTE, DEAF, SLOW = NODES = ("cut", "mute", "deaf", "slow")
AWAY = (CUT, MUTE, DEAF)
LONG = "sleep 20; touch answer"  # longer than a node stays away
MAX_ATTEMPTS = 8


@dataclass
class Seen:
    """What was seen meanwhile."""

    stage: Stage
    lines: list[AttemptLine] = field(default_factory=list)
    empty_while_away: dict[str, bool] = field(default_factory=dict)
    condition_while_away: dict[str, str] = field(default_factory=dict)
    pods_before: dict[str, int] = field(default_factory=dict)


@pytest.fixture(scope="module")
def stage(
    tmp_path_factory: pytest.TempPathFactory,
    postgres: OwnPostgres,
    missing: Callable[[str], NoReturn],
) -> Iterator[tuple[Stage, Links]]:
    """Home and four nodes, each in a namespace of its own."""
    without = missing_for_links()
    if without:
        missing(without)
    folder = tmp_path_factory.mktemp("links")
    links = Links(NODES)
    queue = OwnValkey(Path(folder, "queue"), links.home_addresses, links.inside("home"))
    try:
        queue.start()
        made = Stage(folder, postgres, queue, slots=2)
        try:
            yield made, links
        finally:
            made.close()
    finally:
        queue.end()
        links.close()


@pytest.fixture(scope="module")
def seen(stage: tuple[Stage, Links]) -> Seen:
    fleet, links = stage
    port = fleet.valkey.port
    for node in NODES:
        broker = f"redis://{links.home_address(node)}:{port}/0"
        fleet.worker(node, inside=links.inside(node), broker=broker)
    fleet.scheduler("s1", inside=links.inside("home"), broker=f"redis://127.0.0.1:{port}/0")
    fleet.begin()
    seen = Seen(fleet)
    links.slow(SLOW)
    fleet.submit(LONG, samples=4, max_attempts=MAX_ATTEMPTS)
    fleet.submit("touch answer", samples=10, max_attempts=MAX_ATTEMPTS)
    fleet.until(lambda: all(pods(fleet, node) for node in NODES), "every node is at work")
    seen.pods_before = {node: len(pods(fleet, node)) for node in NODES}
    links.cut(CUT)
    links.deafen(MUTE, "home")
    links.deafen(DEAF, "node")
    fleet.until(lambda: lost(fleet) >= set(AWAY), "all three are given up")
    seen.condition_while_away = {node.id: node.condition for node in fleet.leases.nodes()}
    fleet.until(lambda: not any(pods(fleet, node) for node in AWAY), "they stop what they hold", 60)
    seen.empty_while_away = {node: not pods(fleet, node) for node in AWAY}
    for node in AWAY:
        links.heal(node)
    fleet.until(lambda: not fleet.open_trials(), "every trial has an outcome")
    fleet.until(lambda: all(node.takes_trials for node in fleet.leases.nodes()), "all are back")
    settled = time.monotonic() + 40
    while not all(one.holds for one in judge(fleet, MAX_ATTEMPTS)) and time.monotonic() < settled:
        time.sleep(0.5)
    seen.lines = [
        line for name in fleet.experiments for line in reading.attempts(fleet.engine, name)
    ]
    return seen


def pods(stage: Stage, node: str) -> list[str]:
    """The pods whose files lie on a node."""
    folder = stage.state(node) / "pods"
    return [pod.name for pod in folder.iterdir()] if folder.exists() else []


def lost(stage: Stage) -> set[str]:
    """The nodes of which attempts were given up."""
    lines = (line for name in stage.experiments for line in reading.attempts(stage.engine, name))
    return {line.node for line in lines if line.cause == "node_lost"}


def test_whatever_its_cable_does_every_trial_has_one_outcome_and_nothing_is_left(
    seen: Seen,
) -> None:
    assert [one for one in judge(seen.stage, MAX_ATTEMPTS) if not one.holds] == []
    assert Counter(line.verdict for line in seen.lines if line.accepted) == {"passed": 28}


def test_a_node_that_is_not_heard_of_is_told_so(seen: Seen) -> None:
    assert seen.condition_while_away == dict.fromkeys(AWAY, "silent") | {SLOW: "up"}


@pytest.mark.parametrize("node", AWAY)
def test_a_node_that_is_cut_off_stops_what_it_no_longer_owns_while_it_is_cut_off(
    seen: Seen, node: str
) -> None:
    assert seen.pods_before[node]
    assert seen.empty_while_away[node]


def test_what_it_had_begun_is_lost_once_and_its_late_records_count_for_nothing(
    seen: Seen,
) -> None:
    of_lost = [line for line in seen.lines if line.cause == "node_lost"]
    assert {line.node for line in of_lost} == set(AWAY)
    assert not any(line.accepted for line in of_lost)
    late = {
        event.subject
        for name in seen.stage.experiments
        for event in reading.events(seen.stage.engine, name)
        if event.kind == "late or doubled record"
    }
    assert late >= {line.id for line in of_lost}


def test_a_slow_cable_loses_nothing(seen: Seen) -> None:
    on_slow = [line for line in seen.lines if line.node == SLOW]
    assert {line.verdict for line in on_slow} == {"passed"}
