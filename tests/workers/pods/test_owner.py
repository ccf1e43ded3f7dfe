"""Owners of pods: who made one, and whether its maker still lives."""

import subprocess
import sys

import pytest

from infranoise.workers.pods import owner


def test_a_living_process_is_not_dead() -> None:
    assert not owner.dead(owner.owner(), one_machine=True)


def test_a_killed_process_is_dead_before_and_after_it_is_reaped() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        name = owner.owner(process.pid)
        assert not owner.dead(name, one_machine=True)
        process.kill()
        while not owner.dead(name, one_machine=True):  # a zombie until we wait for it
            pass
    assert owner.dead(name, one_machine=True)


@pytest.mark.parametrize(
    ("field", "value", "alone", "among_others"),
    [
        (0, "another-boot", True, False),
        (1, "4026000000", False, False),
        (3, "1", True, True),
    ],
    ids=["an earlier boot, or another machine", "another PID namespace", "the pid was used again"],
)
def test_only_what_can_be_known_from_here_is_called_dead(
    field: int, value: str, alone: bool, among_others: bool
) -> None:
    parts = owner.owner().split(":")
    parts[field] = value
    assert owner.dead(":".join(parts), one_machine=True) is alone
    assert owner.dead(":".join(parts), one_machine=False) is among_others


def test_words_that_name_nobody_are_not_called_dead() -> None:
    boot = owner.owner().split(":")[0]
    assert not owner.dead(f"{boot}:nonsense", one_machine=True)
