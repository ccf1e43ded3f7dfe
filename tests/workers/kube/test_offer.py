"""A worker whose pods are a cluster's offers slots: floors are the cluster's to hold."""

from pathlib import Path

import pytest

from infranoise.models.lease.capacity import Capacity
from infranoise.workers.capacity import capacity_here
from infranoise.workers.meters.procfs import Told
from infranoise.workers.settings import worker_settings

MACHINE = Told(root=Path("/"), held={"proc/meminfo": "MemTotal: 1048576 kB\n"})
FLOOR = Capacity(cpu_m=64_000, memory_bytes=1 << 38)


def offered(**variables: str) -> Capacity:
    settings = worker_settings({"INFRANOISE_SLOTS": "3", "HOME": "/none"} | variables)
    return capacity_here(settings, MACHINE)


def test_a_worker_for_a_cluster_alone_offers_slots_whatever_its_own_machine_is() -> None:
    there = offered(INFRANOISE_RUNTIMES="kubernetes")
    assert there.of_a_cluster
    assert there.slots == 3
    assert there.holds(FLOOR)


@pytest.mark.parametrize("runtimes", ["", "docker", "docker,kubernetes"])
def test_a_worker_that_also_runs_pods_itself_offers_what_its_machine_has(runtimes: str) -> None:
    here = offered(INFRANOISE_RUNTIMES=runtimes)
    assert not here.of_a_cluster
    assert not here.holds(FLOOR)


def test_what_it_is_told_to_offer_it_offers() -> None:
    there = offered(INFRANOISE_RUNTIMES="kubernetes", INFRANOISE_MEMORY="4G", INFRANOISE_CPUS="2")
    assert (there.cpu_m, there.memory_bytes) == (2000, 4 << 30)
