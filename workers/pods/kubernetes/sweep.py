"""Removing pods that nobody looks after: what they left is kept first, and each is seen gone."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .api import ApiRefused, ApiTrouble
from .cluster import Cluster
from .diary import Diary
from .runs import may_not
from .seats import FINALIZER, LABEL, MANAGED_BY
from .words import GRACE_S, label

LOG = logging.getLogger(__name__)
REMOVAL_SLACK_S = 30.0
Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Swept:
    """What became of one pod; `why_it_stays` is empty where it is gone."""

    pod: str
    attempt: str
    why_it_stays: str = ""


class Sweeper:
    """Removes pods of one namespace."""

    def __init__(self, cluster: Cluster, diary: Diary) -> None:
        self._cluster, self._diary = cluster, diary

    def sweep(self, wanted: Callable[[Object], bool], run: str | None = None) -> tuple[Swept, ...]:
        """Remove our pods that are wanted.

        Args:
            run: only those of this experiment.
        Raises:
            ApiTrouble: they cannot be listed.
        """
        ours = f"{MANAGED_BY}=infranoise"
        selector = ours if run is None else f"{ours},{LABEL}run={label(run)}"
        found = [pod for pod in self._cluster.pods(selector) if attempt_of(pod)]
        return tuple(self._remove(pod) for pod in found if wanted(pod))

    def _remove(self, pod: Object) -> Swept:
        """Delete one pod and see it gone.

        It has its grace: without one the object goes at once, and its processes when they may.
        """
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        self._diary.swept(pod)
        self._diary.intent("cleanup", uid, name)
        try:
            self._cluster.delete(name, uid)
            if FINALIZER in pod["metadata"].get("finalizers", ()):
                self._cluster.release(name, uid)
            gone = self._cluster.gone(name, uid, within_s=GRACE_S + REMOVAL_SLACK_S)
            why = "" if gone else "it was told to go and has not gone"
        except ApiTrouble as trouble:
            why = str(trouble)
        if why:
            LOG.warning("pod %s was not removed: %s", name, why)
        return Swept(name, attempt_of(pod), why)


def sweep(
    cluster: Cluster, diary: Diary, experiment: str | None, *, now: float, everything: bool
) -> tuple[Swept, ...]:
    """Remove what a run left and its ConfigMap, or what has expired of any run and ConfigMaps of
    runs that are long over.

    Args:
        experiment: only this one's; None: every run's.
        everything: also pods whose time is not over.
        now: Unix seconds.
    Raises:
        ApiTrouble: the cluster does not answer.
    """
    swept = Sweeper(cluster, diary).sweep(lambda pod: everything or expired(pod, now), experiment)
    if experiment is not None and everything and not any(one.why_it_stays for one in swept):
        cluster.runs.remove(experiment)
    if experiment is None:
        _remove_stale(cluster, now)
    return swept


def _remove_stale(cluster: Cluster, now: float) -> None:
    busy = {run_of(pod) for pod in cluster.pods(f"{MANAGED_BY}=infranoise")}
    try:
        cluster.runs.remove_stale(busy, now)
    except ApiRefused as refusal:
        if not may_not(refusal):
            raise
        LOG.warning("ConfigMaps of old runs stay: %s", refusal)


def run_of(pod: Object) -> str:
    """The label of the run that a pod is of."""
    return str((pod["metadata"].get("labels") or {}).get(f"{LABEL}run", ""))


def attempt_of(pod: Object) -> str:
    """The attempt that a pod is of; "" where it is none of ours."""
    return annotation(pod, "attempt")


def annotation(pod: Object, name: str) -> str:
    """One of our annotations; "" where it is missing."""
    return str((pod["metadata"].get("annotations") or {}).get(f"{LABEL}{name}", ""))


def expired(pod: Object, now: float) -> bool:
    """Whether a pod's time is over.

    Args:
        now: Unix seconds.
    """
    try:
        return float(annotation(pod, "expires-at")) < now
    except ValueError:
        return False
