"""Where an egress factor can be had is told before anything is spent."""

from collections.abc import Callable
from typing import Any

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


@pytest.mark.parametrize(
    ("wants", "pods", "why", "blocks"),
    [
        ({"allowed_hosts": ("site.test",)}, {}, "", False),
        ({"allowed_hosts": ("site.test",)}, {"network": "none"}, "no use of its", False),
        ({"allowed_hosts": ("2001:db8::1",)}, {}, "IPv4 alone", True),
        ({"allowed_hosts": ("*.site.test",), "no_outlets": "run as root"}, {}, "as root", True),
        ({"allowed_hosts": ("a.test",)}, {"runtime": "kubernetes"}, "'allowlist'", True),
    ],
)
def test_a_task_with_an_allow_list_runs_where_that_can_be_watched_over(
    wants: dict[str, Any],
    pods: dict[str, str],
    why: str,
    blocks: bool,
    make_task: Callable[..., Task],
    make_experiment: Callable[..., Experiment],
) -> None:
    machine = Machine(cpus=8, no_outlets=wants.pop("no_outlets", ""))
    task = make_task(network_mode="allowlist", **wants)
    experiment = make_experiment(pods={"runtime": "docker"} | pods)
    found = misfits([task], experiment, environ={}, machine=machine)
    about = [one for one in found if "allow" in one.why]
    assert [why in one.why for one in about] == ([True] if why else [])
    assert [one.blocks for one in about] == ([blocks] if why else [])


def test_a_cap_without_any_network_is_no_experiment(
    make_experiment: Callable[..., Experiment],
) -> None:
    with pytest.raises(ValueError, match="has none; set"):
        make_experiment(pods={"network": "none"}, factors={"egress_mbps": (10,)})
