"""Rows of a cluster's table for pods that never came to run: not placed, not taken, no image, no
start."""

import re

from .evidence import Evidence
from .kube_evidence import KubeEvidence
from .rule import Rule

# "OutOf" and a resource (OutOfmemory is no OOM kill: nothing ran), or a word of its own.
REFUSED_BY_KUBELET = re.compile(
    r"OutOf.+|UnexpectedAdmissionError|TopologyAffinityError|NodeAffinity|NodeName|NodePorts"
    r"|TaintToleration|PodOSNotSupported|SysctlForbidden|AppArmor"
)
REFUSED_UNDER_PRESSURE = re.compile(r"The node had condition: ")
IMAGE_WAITS = (
    "ErrImagePull",
    "ImagePullBackOff",
    "ErrImageNeverPull",
    "InvalidImageName",
    "ImageInspectError",
)
START_WAITS = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
START_ENDS = ("StartError", "ContainerCannotRun")
# A name that nobody can pull, or may not: the words of registries and of the kubelet.
IMAGE_CONFIGURATION = re.compile(
    r"not found|manifest unknown|does not exist|unauthorized|denied|\b401\b|\b403\b", re.IGNORECASE
)
SANDBOX_NETWORK = re.compile(r"FailedCreatePodSandBox.*(cni|network)", re.IGNORECASE)


def kube_of(evidence: Evidence) -> KubeEvidence:
    """What the cluster told; rows are asked of a cluster's pods only."""
    assert evidence.kube is not None
    return evidence.kube


def _refused_by_kubelet(evidence: Evidence) -> bool:
    """It came to its node and was sent away before anything ran."""
    kube = kube_of(evidence)
    pressed = kube.reason == "Evicted" and REFUSED_UNDER_PRESSURE.search(kube.message) is not None
    return pressed or REFUSED_BY_KUBELET.fullmatch(kube.reason) is not None


def _unscheduled(evidence: Evidence) -> bool:
    kube = kube_of(evidence)
    return kube.overdue == "schedule" and bool(kube.unscheduled or kube.quota)


def _why_unscheduled(evidence: Evidence) -> str:
    kube = kube_of(evidence)
    where = "config_error" if kube.floor_fits == "no" else "no_room"
    return f"{where}: {kube.unscheduled_message or kube.quota}"


def _why_no_image(evidence: Evidence) -> str:
    kube = kube_of(evidence)
    own = kube.waiting in ("InvalidImageName", "ErrImageNeverPull")
    # Of a pull that is put off, older kubelets tell the reason in an event alone.
    words = "; ".join((kube.waiting_message, *kube.troubles))
    wrong = own or ("no such host" not in words and IMAGE_CONFIGURATION.search(words))
    return f"{'configuration' if wrong else 'infrastructure'}: {kube.waiting_message}"


def _not_started(evidence: Evidence) -> bool:
    kube = kube_of(evidence)
    slow = kube.overdue == "start" or (kube.overdue == "image" and not kube.waiting)
    return kube.waiting in START_WAITS or kube.ended_as in START_ENDS or slow


def _why_not_started(evidence: Evidence) -> str:
    kube = kube_of(evidence)
    network = any(SANDBOX_NETWORK.search(trouble) for trouble in kube.troubles)
    words = kube.waiting_message or "; ".join(kube.troubles) or "it did not start in time"
    return f"{'network' if network else kube.waiting or kube.ended_as or 'start'}: {words}"


UNTAKEN: tuple[Rule, ...] = (
    Rule("kubernetes 9: refused by the kubelet", _refused_by_kubelet, "infra_error",
         "unschedulable", detail=lambda e: f"admission: {kube_of(e).message}"),
)  # fmt: skip
UNSTARTED: tuple[Rule, ...] = (
    Rule("kubernetes 10: no room in time", _unscheduled, "infra_error", "unschedulable",
         detail=_why_unscheduled),
    Rule("kubernetes 11: no image", lambda e: kube_of(e).waiting in IMAGE_WAITS, "infra_error",
         "image_pull", detail=_why_no_image),
    Rule("kubernetes 12: not started", _not_started, "infra_error", "start_failed",
         detail=_why_not_started),
)  # fmt: skip
