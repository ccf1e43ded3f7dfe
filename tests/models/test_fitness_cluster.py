"""What a cluster cannot run is told before anything is spent."""

from collections.abc import Callable, Mapping

import pytest

from infranoise.models.band import Band, Share
from infranoise.models.experiment import Experiment
from infranoise.models.fitness import Machine, misfits
from infranoise.models.task import Task

PREFIX = {"INFRANOISE_IMAGE_PREFIX": "registry.example/env"}
CASES: dict[str, tuple[str, str | None, Mapping[str, str] | None, list[str]]] = {
    "its image is named": ("kubernetes", "task:1", {}, []),
    "its image lies under the prefix": ("kubernetes", None, PREFIX, []),
    "it has no image": ("kubernetes", None, {}, ["infrastructure"]),
    "it has none, and workers may know where it is": ("kubernetes", None, None, ["notice"]),
    "Docker builds it": ("docker", None, {}, []),
}


@pytest.mark.parametrize("case", CASES)
def test_a_task_that_a_cluster_could_not_pull_is_told(
    case: str, make_task: Callable[..., Task], make_experiment: Callable[..., Experiment]
) -> None:
    runtime, image, environ, kinds = CASES[case]
    experiment = make_experiment(pods={"runtime": runtime})
    task = make_task(image=image, network_mode="public")
    found = misfits([task], experiment, environ=environ, machine=Machine(cpus=8))
    assert [m.kind for m in found if "names no image" in m.why] == kinds


STRICT = Band(name="strict", cpu=Share())
QOS = {
    "natural, of two classes": ("natural", (STRICT, Band.shorthand("3x")), True),
    "natural, of one class": ("natural", (Band.shorthand("1x"), Band.shorthand("3x")), False),
    "constant": ("constant", (STRICT, Band.shorthand("3x")), False),
}


@pytest.mark.parametrize("case", QOS)
def test_bands_that_differ_in_more_than_their_ceiling_are_told(
    case: str, make_experiment: Callable[..., Experiment]
) -> None:
    qos, bands, differ = QOS[case]
    pods = {"runtime": "kubernetes", "kubernetes": {"qos": qos}}
    experiment = make_experiment(pods=pods, bands=bands)
    found = misfits([], experiment, environ={}, machine=Machine(cpus=8))
    assert any("pods of strict are Guaranteed" in one.why for one in found) is differ
