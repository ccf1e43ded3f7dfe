"""A thousand Kubernetes pods in flight: `python benchmarks/kubernetes_watch.py`

Pods are made, run for a while, and end, on a fake API server in a process of its own (a recorded
life, played back). We make them in raw JSON and hear of their ends over one watch of pods, beside
those of nodes and events; the peer makes them with the official client's typed calls and polls each
with `read_namespaced_pod_status` once in two seconds, as is usual. Either way a thread waits for
each pod, as an attempt does. CPU seconds and memory are of
the client's process alone.
"""

import argparse
import json
import multiprocessing
import resource
import statistics
import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from kubernetes import client

from infranoise.workers.pods.kubernetes.api import Api
from infranoise.workers.pods.kubernetes.cluster import Cluster
from infranoise.workers.pods.kubernetes.watch import Reflector

NAMESPACE = "trials"
LABELS = {"app.kubernetes.io/managed-by": "infranoise"}
SERVICES = Path(__file__).parents[1] / "tests" / "services"
SCENARIO, LIVES_S = "termination-evidence-ok", 3.2  # how long the recorded pod lived
POLL_S = 2.0
AT_ONCE = 8  # calls of either way in flight
GOAL = 5.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one pod, from being made to its end being known; memory is of the process, at its peak."""

    cpu_ms: float
    peak_mib: float
    wall_s: float


def main() -> int:
    """Measure, print one table, and say whether the goal is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--life", type=float, default=20.0, help="seconds that a pod lives")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    asked = parser.parse_args()
    kinds: dict[str, Callable[[str, int], None]] = {"one watch": ours, "typed polling": typed}
    found = {
        name: _typical([_alone(work, asked.pods, asked.life) for _ in range(asked.rounds)])
        for name, work in kinds.items()
    }
    ratio = found["typed polling"].cpu_ms / found["one watch"].cpu_ms
    if asked.json:
        told = {name: asdict(cost) for name, cost in found.items()}
        print(json.dumps(told | {"pods": asked.pods, "cpu_ratio": ratio, "goal": GOAL}))
    else:
        _table(found, asked.pods, asked.life, ratio)
    return 0 if ratio >= GOAL else 1


def ours(url: str, pods: int) -> None:
    """Make pods and wait for their ends, our way."""
    api = Api(client.Configuration(host=url))
    reflector = Reflector(api, NAMESPACE, "app.kubernetes.io/managed-by=infranoise")
    cluster = Cluster(api, NAMESPACE, reflector)
    cluster.start()

    def live(_: int) -> None:
        made = cluster.create(_body(), 60)
        uid = str(made["metadata"]["uid"])
        reflector.follow(made)
        assert reflector.wait(uid, _ended, 120)
        reflector.forget(uid)

    with ThreadPoolExecutor(pods) as pool:  # every attempt waits in a thread of its own
        list(pool.map(live, range(pods)))
    cluster.stop()


def typed(url: str, pods: int) -> None:
    """The same with typed calls: each pod is polled by the thread that waits for it."""
    configuration = client.Configuration(host=url)
    configuration.connection_pool_maxsize = AT_ONCE
    core = client.CoreV1Api(client.ApiClient(configuration))
    few = threading.BoundedSemaphore(AT_ONCE)

    def live(_: int) -> None:
        with few:
            name = str(core.create_namespaced_pod(NAMESPACE, _body()).metadata.name)
        phase = ""
        while phase not in ("Succeeded", "Failed"):
            time.sleep(POLL_S)
            with few:
                phase = core.read_namespaced_pod_status(name, NAMESPACE).status.phase

    with ThreadPoolExecutor(pods) as pool:
        list(pool.map(live, range(pods)))


def _ended(history: Any) -> bool:
    return bool(history) and history[-1].pod["status"].get("phase") in ("Succeeded", "Failed")


def _body() -> dict[str, Any]:
    return {
        "metadata": {"name": f"p-{uuid.uuid4().hex}", "labels": LABELS},
        "spec": {"containers": [{"name": "main", "image": "x:1"}]},
    }


def _alone(work: Callable[[str, int], None], pods: int, life_s: float) -> Cost:
    """Run one way in a fresh process against a fresh server in another."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    server = spawn.Process(target=_serve, args=(there, life_s / LIVES_S), daemon=True)
    server.start()
    url = here.recv()
    result, told = spawn.Pipe()
    contestant = spawn.Process(target=_contest, args=(work, url, pods, told))
    contestant.start()
    cost = result.recv()
    contestant.join()
    here.send("enough")
    server.join()
    return cost


def _contest(work: Callable[[str, int], None], url: str, pods: int, told: Connection) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    work(url, pods)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    spent_ms = 1000 * (time.process_time() - cpu) / pods
    told.send(Cost(spent_ms, peak_mib, time.perf_counter() - wall))


def _serve(there: Connection, scale: float) -> None:
    sys.path.insert(0, str(SERVICES))
    from kube_api import FakeApi
    from kube_replay import ReplayKubelet

    fake = FakeApi()
    with fake.running():
        fake.store.create("namespaces", "", {"metadata": {"name": NAMESPACE}})
        ReplayKubelet(fake.store, SCENARIO, scale)
        there.send(fake.url)
        there.recv()


def _typical(costs: list[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.cpu_ms for cost in costs),
        statistics.median(cost.peak_mib for cost in costs),
        statistics.median(cost.wall_s for cost in costs),
    )


def _table(found: dict[str, Cost], pods: int, life_s: float, ratio: float) -> None:
    print(f"{pods} pods in flight, each {life_s:g} s")
    print(f"{'':16}{'CPU ms per pod':>16}{'peak MiB':>10}{'wall s':>8}")
    for name, cost in found.items():
        print(f"{name:16}{cost.cpu_ms:>16.2f}{cost.peak_mib:>10.0f}{cost.wall_s:>8.1f}")
    print(f"CPU ratio {ratio:.1f}, goal {GOAL:g}: {'met' if ratio >= GOAL else 'MISSED'}")


if __name__ == "__main__":
    sys.exit(main())
