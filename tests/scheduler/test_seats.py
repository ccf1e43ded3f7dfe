"""Each attempt is told its place among those of its block, or of its wave."""

from collections.abc import Callable
from typing import Any

import pytest

from infranoise.models.experiment import Experiment
from infranoise.models.ledger.attempts import Owed
from infranoise.models.seating import Seat
from infranoise.models.task import Task
from infranoise.models.trial import CellKey, TrialKey
from infranoise.scheduler.orders import order

Seats = Callable[..., Seat | None]


@pytest.fixture
def seat(make_experiment: Callable[..., Experiment], make_task: Callable[..., Task]) -> Seats:
    task = make_task()

    def of(
        band: str, sample: int = 0, wave: int = 0, runtime: str = "kubernetes", **asked: Any
    ) -> Seat | None:
        made = make_experiment(pods={"runtime": runtime, "kubernetes": asked})
        key = TrialKey(cell=CellKey(task=task.name, entry="lean", band=band), sample=sample)
        owed = Owed("t", wave, 0, 1)
        return order(made, {task.name: task}, owed, key, queued_at=0.0, now=0.0).seat

    return of


def told(seat: Seat | None) -> Seat:
    assert seat is not None
    return seat


def test_the_bands_of_a_block_share_a_shuffle_and_have_a_turn_each(seat: Seats) -> None:
    block = [told(seat(band)) for band in ("1x", "1.5x", "2x", "3x", "5x", "uncapped")]
    assert len({one.shuffle for one in block}) == 1
    assert [(one.turn, one.of) for one in block] == [(turn, 6) for turn in range(6)]
    assert told(seat("1x", sample=1)).shuffle != block[0].shuffle


def test_where_bands_are_isolated_a_wave_shares_a_shuffle(seat: Seats) -> None:
    one, other = (told(seat("1x", sample=n, isolate="band")) for n in (0, 1))
    assert one.shuffle == other.shuffle
    assert told(seat("1x", wave=1, isolate="band")).shuffle != one.shuffle


def test_only_pods_of_a_cluster_have_seats(seat: Seats) -> None:
    assert seat("1x", runtime="process") is None
