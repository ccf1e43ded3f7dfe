"""What every room's tests share: small makers of the nouns, and how hypothesis is run."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings
from own_postgres import OwnPostgres, find_postgres, own_postgres

from infranoise.models.conditions import Clocks, Conditions, Usage
from infranoise.models.entry import Entry
from infranoise.models.evidence import Evidence, Phase
from infranoise.models.experiment import Experiment
from infranoise.models.limits import Limits
from infranoise.models.message import AttemptRecord
from infranoise.models.spec import Spec
from infranoise.models.task import Task

REAL_CLUSTER = "INFRANOISE_TEST_KUBECONFIG"
REAL_MACHINE = {"docker", "links", "cgroup", "peers"}  # markers
REAL_PROCESSES = ("fleet", "cli")  # folders
LONGEST_FIRST = (  # files that wait for real pods, servers and clocks; a file runs on one worker
    "cli/test_models_run.py",
    "fleet/chaos/test_links.py",
    "fleet/chaos/test_chaos.py",
    "workers/pods/test_contract_kubernetes.py",
    "cli/test_run.py",
    "workers/test_harbor_agents.py",
    "workers/test_harbor_traps.py",
    "importers/test_peers.py",
    "fleet/test_compose.py",
    "fleet/test_fleet.py",
    "fleet/test_gateway.py",
    "workers/test_attempt.py",
    "workers/pods/test_contract_docker.py",
    "workers/kube/test_attempts.py",
    "cli/test_interrupt.py",
    "workers/pods/docker/test_docker.py",
    "cli/test_run_ways.py",
    "workers/test_withdrawn.py",
    "workers/pods/test_process.py",
    "workers/pods/test_contract_process.py",
    "fleet/test_flower.py",
    "cli/test_egress_run.py",
    "cli/test_outlet_run.py",
    "workers/pods/test_outlet.py",
    "cli/test_bake_off.py",
    "cli/test_sweep.py",
    "workers/pods/test_egress.py",
)

settings.register_profile("frugal", max_examples=50, deadline=None)
settings.load_profile("frugal")


@pytest.fixture
def make_task(tmp_path: Path) -> Callable[..., Task]:
    """A task value; its folder exists but is empty."""

    def make(name: str = "suite/one", **more: object) -> Task:
        folder = tmp_path / name
        folder.mkdir(parents=True, exist_ok=True)
        spec = Spec(cpus=1, memory_mib=64, storage_mib=256, agent_timeout_s=30)
        values = {"title": name, "content_hash": f"c-{name}", "environment_hash": f"e-{name}"}
        return Task(name=name, directory=folder, **{"spec": spec, **values, **more})

    return make


@pytest.fixture
def make_experiment() -> Callable[..., Experiment]:
    """A small experiment on process pods."""

    def make(**more: object) -> Experiment:
        entries = (Entry(agent="policy", model="lean"), Entry(agent="policy", model="heavy"))
        values: dict[str, object] = {
            "name": "small",
            "tasks": ("any",),
            "samples": 2,
            "entries": entries,
            "pods": {"runtime": "process"},
        }
        return Experiment.model_validate(values | more)

    return make


@pytest.fixture
def make_record() -> Callable[..., AttemptRecord]:
    """A record of an attempt that ended as `reward` says, or with the given evidence."""

    def make(
        trial: str,
        number: int = 1,
        *,
        experiment: str = "small",
        reward: float = 1.0,
        evidence: Evidence | None = None,
    ) -> AttemptRecord:
        seen = evidence or Evidence(
            phases=(
                Phase(name="setup", exit_code=0, oom_kills=0),
                Phase(name="agent", exit_code=0, oom_kills=0),
                Phase(name="verifier", exit_code=0, oom_kills=0),
            ),
            reward=reward,
        )
        return AttemptRecord(
            attempt_id=f"{trial}.{number}",
            trial_id=trial,
            experiment=experiment,
            number=number,
            evidence=seen,
            conditions=Conditions(
                node="local",
                node_profile="p",
                runtime="process",
                network="none",
                requested=Limits(),
                slots=2,
                hour_utc=3,
                weekday=1,
            ),
            usage=Usage(),
            clocks=Clocks(received_at=1.0, ended_at=2.0),
            worker_version="0",
        )

    return make


@pytest.fixture(scope="session")
def missing() -> Callable[[str], NoReturn]:
    """Skip at home, fail in CI: a service that the suite needs is not here."""

    def tell(what: str) -> NoReturn:
        if os.environ.get("CI"):
            pytest.fail(f"{what} is missing, and CI must not skip what needs it")
        pytest.skip(f"{what} is missing here")

    return tell


@pytest.fixture(scope="session")
def postgres(missing: Callable[[str], NoReturn]) -> Iterator[OwnPostgres]:
    """A PostgreSQL server of our own; tests share it, each in a schema of its own."""
    programs = find_postgres()
    if programs is None:
        missing("PostgreSQL's server (package `postgresql`)")
    with own_postgres(programs) as server:
        yield server


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long go first, so that no worker is left alone with one at the end.

    CI's machine is shared. There, a test that waits for a real engine or for other processes may
    fail once and pass when repeated: it is named in the summary, and the closing line counts it.
    """
    rank = {name: place for place, name in enumerate(LONGEST_FIRST)}
    root = Path(__file__).parent
    items.sort(key=lambda item: rank.get(item.path.relative_to(root).as_posix(), len(rank)))
    if not os.environ.get("CI"):
        return
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if marks & REAL_MACHINE or item.path.relative_to(root).parts[0] in REAL_PROCESSES:
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what passed at its second try; say loudly what Kubernetes pods were held against."""
    for report in terminalreporter.stats.get("rerun", ()):
        terminalreporter.write_line(f"Tried again: {report.nodeid}", yellow=True, bold=True)
    reports = (report for found in terminalreporter.stats.values() for report in found)
    if not any("kube" in getattr(report, "nodeid", "") for report in reports):
        return
    if where := os.environ.get(REAL_CLUSTER):
        terminalreporter.write_line(f"Kubernetes pods: tested on cluster {where}", green=True)
        return
    told = f"SKIPPED on a real cluster ({REAL_CLUSTER} names none); tested on doubles alone"
    terminalreporter.write_line(f"Kubernetes pods: {told}", yellow=True, bold=True)
