"""Probe pods of the doctor: is a kill a kill, a wall a wall, a cap a cap?"""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from ....models.errors import PodError
from ....models.limits import Effective, Limits
from ....models.seating import ClusterPods, Seat
from ...doctor_check import Check
from ..pod import PodOrder
from . import probe_scripts as scripts
from .api import Api, ApiTrouble, Ask
from .pod import KubernetesPod
from .pods import KubernetesPods
from .runs import Runs
from .seats import LABEL, MANAGED_BY
from .words import Shape, label, manifest

MIB = 1 << 20
CEILING_BYTES, HOG_BYTES = 48 * MIB, 160 * MIB
PATIENCE_S, PULL_S, LIVES_S = 120.0, 300.0, 900.0
BLOCKED_WITHIN_S = 15.0
CAP_MBPS = 10.0
FLOOD_BYTES = 1 << 30  # more than any burst that was measured
SAMPLES = 12  # seconds
EXPERIMENT = "infranoise-doctor"
SEAT = Seat(asked=ClusterPods(spread="cluster", schedule_timeout_s=PATIENCE_S))
POLICIES = "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies"
NOBODY = "nothing in the image can open a connection (python3 or nc)"
OTHER_IMAGE = "name an image that has python3 or nc: --image"


def order(
    shape: Shape, image: str, limits: Limits, name: str, egress_mbps: float | None = None
) -> PodOrder:
    """The order of one probe pod."""
    return PodOrder(
        attempt_id=f"doctor-{name}-{secrets.token_hex(4)}",
        experiment=EXPERIMENT,
        trial=name,
        environment=Path("/"),
        environment_hash="",
        limits=limits,
        expires_at=time.time() + LIVES_S,
        image=image,
        build_timeout_s=PULL_S,
        egress_mbps=egress_mbps,
        seat=SEAT,
    )


def plain_pod(shape: Shape) -> dict[str, Any]:
    """The manifest of a pod that asks for next to nothing."""
    return manifest(order(shape, "none", Limits(), "plain"), shape, time.time())


def checks(api: Api, shape: Shape, image: str, tell: Callable[[str], None]) -> Iterator[Check]:
    """What probe pods find; they are removed whatever happens."""
    pods = KubernetesPods(shape, api=api)
    try:
        tell("killing a probe pod's process at its ceiling")
        yield from memory(pods, shape, image)
        tell("cutting a probe pod off")
        with ExitStack() as stack:
            server, client = (
                stack.enter_context(pods.pod(order(shape, image, Limits(), name)))
                for name in ("server", "client")
            )
            yield policy(api, shape, server, client)
            tell("slowing a probe pod down")
            capped = order(shape, image, Limits(), "capped", CAP_MBPS)
            yield shaping(server, stack.enter_context(pods.pod(capped)))
    except PodError as error:
        yield _no_pod(error)
    finally:
        pods.close()
        with suppress(ApiTrouble):
            Runs(api, shape.namespace).remove(EXPERIMENT)


def memory(pods: KubernetesPods, shape: Shape, image: str) -> Iterator[Check]:
    """Whether what outgrows its ceiling is killed, and the kill counted."""
    limits = Limits(memory_floor_bytes=CEILING_BYTES // 2, memory_ceiling_bytes=CEILING_BYTES)
    pod = pods.pod(order(shape, image, limits, "memory"))
    try:
        got = pod.start()
        pod.exec(["sh", "-c", scripts.hog(HOG_BYTES)], timeout_s=60)
        kills = pod.counters().oom_kills
    finally:
        with suppress(PodError):
            pod.stop()
    yield _limits(got)
    yield _kills(kills, got)


def _limits(got: Effective) -> Check:
    mechanism = f"by {got.enforcement.removeprefix('kubernetes:')}"
    real = [words for words in got.differs if not words.startswith(("oom_scope", "pids"))]
    if real:
        remedy = "look for what changes pods on their way to the node: a webhook, a node's settings"
        return Check("limits", "fail", "; ".join(real), "bands are not what they say", remedy)
    told = "; ".join(got.differs)
    meaning = f"bands are what they say{f'; the kubelet decides otherwise: {told}' if told else ''}"
    return Check("limits", "ok", f"seen in the pod as asked, {mechanism}", meaning)


def _kills(kills: int | None, got: Effective) -> Check:
    name = "memory ceiling"
    if not kills:
        found = f"{HOG_BYTES // MIB} MiB were taken under a ceiling of {CEILING_BYTES // MIB} MiB"
        found += ", and no kill was counted" if kills == 0 else ", and kills cannot be counted"
        remedy = "use nodes whose container runtime enforces memory limits, without swap"
        return Check(name, "fail", found, "bands mean nothing here", remedy)
    scope = {"pod": "one kill ends the whole pod", "process": "the victim alone dies"}
    found = f"a kill at the ceiling, counted in the pod; {scope.get(got.oom_scope or '', '')}"
    return Check(name, "ok", found, "set each band's oom_scope to this, so that it is comparable")


def policy(api: Api, shape: Shape, server: KubernetesPod, client: KubernetesPod) -> Check:
    """Whether a NetworkPolicy cuts a pod off, by trying to connect before and after."""
    name = "network policy"
    address = _address(server)
    server.exec(["sh", "-c", scripts.LISTEN], timeout_s=20)
    before = _reaches(client, address)
    if before == scripts.NO_TOOL:
        return Check(name, "warn", NOBODY, "it is not known", OTHER_IMAGE)
    if before != 0:
        found = f"one pod does not reach another ({address}) in the first place"
        return Check(name, "warn", found, "a policy or plugin stands there already")
    path = POLICIES.format(shape.namespace)
    made = _deny(client)
    try:
        api.ask(Ask("POST", path, body=made), patience_s=5.0)
    except ApiTrouble as trouble:
        remedy = "let someone run the doctor who may create and delete networkpolicies"
        return Check(name, "warn", f"none could be made: {trouble}", "it is not known", remedy)
    try:
        since = time.monotonic()
        while time.monotonic() - since < BLOCKED_WITHIN_S:
            if _reaches(client, address) != 0:
                found = f"a pod was cut off within {time.monotonic() - since:.0f} s"
                return Check(name, "ok", found, "the walls of deploy/kubernetes hold")
            time.sleep(1.0)
    finally:
        with suppress(ApiTrouble):
            api.ask(Ask("DELETE", f"{path}/{made['metadata']['name']}", body={}))
    meaning = "trials reach whatever the node reaches: queue, ledger, a cloud's metadata"
    remedy = "use a network plugin that enforces policies, or wall the nodes of trials off"
    return Check(name, "warn", "accepted, and does nothing", meaning, remedy)


def shaping(server: KubernetesPod, client: KubernetesPod) -> Check:
    """Whether the bandwidth annotation holds beyond its burst, by what leaves the pod."""
    name = "bandwidth cap"
    script = scripts.flood(_address(server), FLOOD_BYTES, SAMPLES)
    told = client.exec(["sh", "-c", script], timeout_s=SAMPLES + 30.0)
    if told.exit_code == scripts.NO_TOOL:
        return Check(name, "warn", NOBODY, "it is not known", OTHER_IMAGE)
    sent = [int(word) for word in told.stdout.tail.split() if word.isdecimal()]
    if len(sent) < 4:
        return Check(name, "warn", "the probe could not count its bytes", "it is not known")
    return shaped(sent)


def shaped(sent: list[int]) -> Check:
    """Whether a cap bound.

    Args:
        sent: bytes that had left the pod, second by second.
    """
    name = "bandwidth cap"
    total, late = sent[-1] - sent[0], 8 * (sent[-1] - sent[-4]) / 3 / 1e6
    if total < FLOOD_BYTES and late <= 2 * CAP_MBPS:
        found = f"{late:.1f} of {CAP_MBPS:g} Mbit/s after a burst of {total / 1e6:.0f} MB"
        meaning = "a cap binds, but only beyond its burst: short transfers never feel it"
        return Check(name, "ok", found, meaning)
    found = f"{total / 1e6:.0f} MB left a pod under a cap of {CAP_MBPS:g} Mbit/s, and none was slow"
    meaning = "the bandwidth annotation is accepted and does nothing"
    remedy = "add the CNI plugin `bandwidth` to the nodes' network"
    return Check(name, "warn", found, meaning, remedy)


def _reaches(client: KubernetesPod, address: str) -> int | None:
    return client.exec(["sh", "-c", scripts.connect(address)], timeout_s=20).exit_code


def _address(pod: KubernetesPod) -> str:
    place = pod.whereabouts()
    return place.pod.pod_ip if place else ""


def _deny(client: KubernetesPod) -> dict[str, Any]:
    chosen: Mapping[str, str] = {f"{LABEL}attempt": label(client.attempt_id)}
    name = f"infranoise-doctor-{secrets.token_hex(4)}"
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "labels": {MANAGED_BY: "infranoise"}},
        "spec": {"podSelector": {"matchLabels": chosen}, "policyTypes": ["Ingress", "Egress"]},
    }


def _no_pod(error: PodError) -> Check:
    found = str(error).splitlines()[0]
    remedy = "mend what it says; for another image give --image, for another node see node_selector"
    return Check("probe pods", "fail", found, "no pod comes up, so no trial would", remedy)
