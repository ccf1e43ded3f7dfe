"""Where an egress factor can be had is told before anything is spent."""

from collections.abc import Callable

import pytest

from infranoise.models.experiment import Experiment
from infranoise.models.fitness import Machine, misfits
from infranoise.models.task import Task


def test_a_task_without_network_is_told_that_the_levels_are_alike(
    make_task: Callable[..., Task], make_experiment: Callable[..., Experiment]
) -> None:
    experiment = make_experiment(
        pods={"runtime": "docker"}, factors={"egress_mbps": ("unlimited", 10)}
    )
    task = make_task(network_mode="no-network")
    whys = [m.why for m in misfits([task], experiment, environ={}, machine=Machine(cpus=8))]
    assert any("levels of egress_mbps are alike" in why for why in whys)


def test_a_cap_without_any_network_is_no_experiment(
    make_experiment: Callable[..., Experiment],
) -> None:
    with pytest.raises(ValueError, match="has none; set"):
        make_experiment(pods={"network": "none"}, factors={"egress_mbps": (10,)})
