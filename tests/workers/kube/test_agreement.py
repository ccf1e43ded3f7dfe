"""One task of the bundled experiment in a container and in a cluster: the same ends.

The whole of it: benchmarks/kubernetes_agreement.py.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, NoReturn

import docker
import pytest
from docker.errors import DockerException
from kube_api import FakeApi
from kube_kubelet import DockerKubelet

from infranoise.bundled.materialise import materialise
from infranoise.models.band import Band
from infranoise.models.classify import classify
from infranoise.models.entry import Entry
from infranoise.models.experiment import Experiment
from infranoise.models.task_file import load_task
from infranoise.scheduler.trial_run import single
from infranoise.workers.attempt import Node, run_attempt
from infranoise.workers.bearings import Bearings
from infranoise.workers.pods.docker.pods import DockerPods
from infranoise.workers.pods.kubernetes.api import Api
from infranoise.workers.pods.kubernetes.pods import KubernetesPods
from infranoise.workers.pods.kubernetes.words import Shape
from infranoise.workers.pods.pod import Pods
from infranoise.workers.slots import Slots

pytestmark = pytest.mark.docker
BASE = "python:3.12-slim"
TASK = "mosaic"
POLICIES = ("lean", "heavy")
BANDS = ("1x", "uncapped")
Ends = dict[tuple[str, str], tuple[str, str]]


@pytest.fixture
def engine(tmp_path: Path, missing: Callable[[str], NoReturn]) -> DockerPods:
    try:
        client = docker.from_env()
        client.images.get(BASE)
        client.close()
    except DockerException as problem:
        missing(f"a Docker engine with {BASE} ({problem})")
    return DockerPods(locks=tmp_path)


@pytest.fixture
def cluster(fake: FakeApi, api: Api, node: dict[str, Any]) -> Iterator[KubernetesPods]:
    kubelet = DockerKubelet(fake, node)
    pods = KubernetesPods(Shape(namespace="trials", image_prefix="infranoise/env"), api=api)
    yield pods
    pods.close()
    kubelet.close()


def ends(pods: Pods, runtime: str, cache: Path) -> Ends:
    (folder,) = (path for path in materialise("headroom", cache) if path.name == TASK)
    task = load_task(folder)
    experiment = Experiment.model_validate(
        {
            "tasks": [TASK],
            "bands": [Band.shorthand(band) for band in BANDS],
            "entries": [Entry(agent="policy", model=model) for model in POLICIES],
            "pods": {"runtime": runtime},
        }
    )
    here = Node("here", Bearings(), Slots(4))

    def end(entry: Entry, band: str) -> tuple[str, str]:
        record = run_attempt(single(experiment, task, entry, band), pods, here)
        outcome = classify(record.evidence)
        return outcome.verdict, outcome.cause  # which process the kernel picked is its own affair

    cells = list(product(experiment.entries, BANDS))
    with ThreadPoolExecutor(len(cells)) as pool:
        return {
            (entry.model, band): told
            for (entry, band), told in zip(cells, pool.map(lambda cell: end(*cell), cells))
        }


def test_what_a_policy_meets_in_a_band_is_the_same_in_a_cluster_as_in_a_container(
    engine: DockerPods, cluster: KubernetesPods, tmp_path: Path
) -> None:
    on_docker = ends(engine, "docker", tmp_path / "cache")
    assert ends(cluster, "kubernetes", tmp_path / "cache") == on_docker
    verdicts = {cell: end[0] for cell, end in on_docker.items()}
    assert verdicts["heavy", "1x"] == "infra_error"
    assert verdicts["heavy", "uncapped"] == "passed"
