"""What a cluster can enforce and what we may do in it: by asking, admitting and probing.

Objects say what somebody wishes; a LimitRange, a quota or a NetworkPolicy is known by what it does
to a pod. So pods of every band are sent through admission without being made, and probe pods are
killed, cut off and slowed to see whether they are.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

from ....models.limits import Limits
from ...doctor_check import Check
from . import probes, words
from .api import Api, ApiRefused, ApiTrouble, Ask
from .limits import strangers, surprises
from .rights import RIGHTS, Right, may
from .words import Shape

MIB = 1 << 20
SKEW_S = 5.0
NOT_FOUND = 404
BANDS = {
    "1x": Limits(memory_floor_bytes=64 * MIB, memory_ceiling_bytes=64 * MIB, cpu_floor=0.1),
    "3x": Limits(memory_floor_bytes=64 * MIB, memory_ceiling_bytes=192 * MIB, cpu_floor=0.1),
    "uncapped": Limits(memory_floor_bytes=64 * MIB, cpu_floor=0.1),
}
GRANT = "apply deploy/kubernetes/rights.yaml, or grant them to the worker's account"


def checks(
    api: Api, shape: Shape, image: str | None, tell: Callable[[str], None] = lambda words: None
) -> Iterator[Check]:
    """Every finding, in the order of what matters most; a cluster that is away is the only one.

    Args:
        image: of the probe pods; None: none are made.
        tell: told what is under way.
    """
    tell("asking the cluster")
    first = answers(api)
    yield first
    if first.status == "fail":
        return
    yield clock(api)
    yield from rights(api, shape.namespace)
    tell("sending a pod of each band through admission")
    yield admission(api, shape)
    if image is None:
        words_ = "not probed (--no-pods)"
        yield Check("probe pods", "warn", words_, "what is enforced is not known", "let it probe")
        return
    yield from probes.checks(api, shape, image, tell)


def answers(api: Api) -> Check:
    """Whether the cluster answers, and what it is."""
    try:
        version = api.ask(Ask("GET", "/version"), patience_s=5.0)
    except ApiTrouble as trouble:
        remedy = "check KUBECONFIG and INFRANOISE_KUBERNETES_CONTEXT, and the way there"
        return Check("cluster", "fail", f"no answer: {trouble}", "no pod can be made", remedy)
    found = f"Kubernetes {version.get('gitVersion', 'of unknown version')}"
    return Check("cluster", "ok", found, "pods can be asked for")


def clock(api: Api) -> Check:
    """Whether the cluster's clock goes as ours does."""
    skew_s = api.skew_s
    if skew_s is None:
        return Check("clock", "warn", "the cluster tells no time", "skew cannot be taken out")
    found = f"{skew_s:+.0f} s beside this machine's"
    if abs(skew_s) <= SKEW_S:
        return Check("clock", "ok", found, "times compare")
    meaning = "times are compared with this taken out; a clock that jumps would still mislead"
    return Check("clock", "warn", found, meaning, "run NTP on both")


def rights(api: Api, namespace: str) -> Iterator[Check]:
    """What we may do, by the API's own word: one line a need."""
    try:
        lacking = [right for right in RIGHTS if not may(api, right, namespace)]
    except ApiTrouble as trouble:
        yield Check("rights", "warn", f"the API does not say: {trouble}", "they are not known")
        return
    yield _rights("rights that must be", "fail", [r for r in lacking if r.need == "must"])
    yield _rights("rights for evidence", "warn", [r for r in lacking if r.need == "evidence"])
    extra = [right for right in lacking if right.need == "extra"]
    if extra:
        found = f"without {', '.join(right.words for right in extra)}"
        yield Check("further rights", "ok", found, "; ".join({r.lost: "" for r in extra}))


def _rights(name: str, status: Any, lacking: list[Right]) -> Check:
    if not lacking:
        return Check(name, "ok", "all there", "nothing is missed")
    found = f"missing: {', '.join(right.words for right in lacking)}"
    return Check(name, status, found, "; ".join({right.lost: "" for right in lacking}), GRANT)


def admission(api: Api, shape: Shape) -> Check:
    """What becomes of a pod of each band on its way in, by a create that is not carried out."""
    changed, refused = [], []
    for band, limits in BANDS.items():
        order = probes.order(shape, "none", limits, band)
        manifest = words.manifest(order, shape, time.time())
        try:
            made = _admitted(api, shape, manifest)
        except ApiRefused as refusal:
            if refusal.status == NOT_FOUND:
                return _no_namespace(shape.namespace)
            refused.append(f"{band}: {refusal}")
            continue
        except ApiTrouble as trouble:
            return Check("admission", "warn", f"no answer: {trouble}", "it is not known")
        asked, got = (one["spec"]["containers"][0]["resources"] for one in (manifest, made))
        changed += [f"{band}: {words_}" for words_ in surprises(asked, got)]
        changed += [f"{band}: {words_}" for words_ in strangers(manifest, made)]
    return _admission(changed, refused)


def _no_namespace(namespace: str) -> Check:
    remedy = "make it, or set INFRANOISE_KUBERNETES_NAMESPACE to one that is there"
    found = f"there is no namespace {namespace!r}"
    return Check("admission", "fail", found, "no pod can be made", remedy)


def _admission(changed: list[str], refused: list[str]) -> Check:
    if refused:
        full = any("exceeded quota" in one for one in refused)
        remedy = (
            "raise the quota, or wait until pods have gone"
            if full
            else "see what the namespace's policy asks, and which webhook or quota stands there"
        )
        meaning = "pods of these bands cannot be made now"
        return Check("admission", "fail", "; ".join(refused), meaning, remedy)
    if changed:
        remedy = "remove the LimitRange, webhook or autoscaler that does this to the namespace"
        meaning = "these bands would not be what they say; such pods are refused"
        return Check("admission", "fail", "; ".join(changed), meaning, remedy)
    found = "a pod of each band comes in as it was asked for"
    return Check("admission", "ok", found, "no LimitRange, quota or webhook stands in the way")


def _admitted(api: Api, shape: Shape, manifest: dict[str, Any]) -> dict[str, Any]:
    path = f"/api/v1/namespaces/{shape.namespace}/pods"
    return api.ask(Ask("POST", path, {"dryRun": "All"}, body=manifest), patience_s=5.0)
