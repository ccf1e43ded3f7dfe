"""A short chaos: one fault of each of these kinds, and everything that must hold afterwards.

`make chaos` plays the long one, with all kinds.
"""

from collections import Counter
from collections.abc import Callable
from typing import NoReturn

import pytest
from chaos.faults import KINDS
from chaos.schedule import Schedule
from chaos.show import WORK, show
from own_postgres import find_postgres

SEED = 20
BRIEF = (
    "worker killed",
    "scheduler killed",
    "queue server killed",
    "ledger restarted",
    "connections reset",
    "message dropped",
    "message replayed",
    "pod killed",
)


def test_nothing_is_lost_and_nothing_counts_twice_whatever_breaks(
    missing: Callable[[str], NoReturn],
) -> None:
    if find_postgres() is None:
        missing("PostgreSQL's server (package `postgresql`)")
    shown = show(
        SEED, BRIEF, len(BRIEF), until_s=60, nodes=2, pause_s=(0.2, 1), samples=4, work=WORK[:3]
    )
    told = [f"{one.at_s:.0f} s {one.kind} ({one.words})" for one in shown.happened]
    print(f"seed {SEED}:", *told)
    assert [one for one in shown.findings if not one.holds] == []
    assert len(shown.happened) >= len(BRIEF) - 2  # a pod or a message may not have come by


@pytest.mark.parametrize("faults", [66, 10])
def test_one_seed_gives_one_order_in_which_each_kind_comes_as_often(faults: int) -> None:
    order = Schedule(1, list(KINDS), faults, (0, 0)).order()
    assert order == Schedule(1, list(KINDS), faults, (0, 0)).order()
    assert order != Schedule(2, list(KINDS), faults, (0, 0)).order()
    counts = Counter(order)
    assert max(counts.values()) - min(counts[kind] for kind in KINDS) <= 1
