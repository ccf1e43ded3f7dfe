"""A pod's life in a cluster: asked for, awaited, lost or ended, and what was told of it."""

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ....models import kube_reading
from ....models.errors import PodError, PodLost, Refused, StartFailed, Unschedulable
from ....models.kube_evidence import KubeEvidence
from ....models.kube_pod import KubePod, kube_pod
from ..pod import PodOrder
from . import start as kubernetes_start
from . import words
from .api import Api, ApiTrouble
from .cluster import Cluster, unfitting
from .diary import Diary
from .limits import strangers, surprises
from .placing import settle
from .profiles import Profiles
from .start import Patience
from .watch import gone

STATUS_LAGS_S = 6.0  # a status follows the end that it tells of by up to some seconds
REMOVAL_SLACK_S = 30.0


class Life:
    """The life of one pod. Its history is the reflector's; what is told of it is kept here.

    Args:
        wait_s: how long it may wait for a node.
    """

    def __init__(
        self, cluster: Cluster, order: PodOrder, shape: words.Shape, diary: Diary, wait_s: float
    ) -> None:
        self._cluster, self._order, self._shape, self._diary = cluster, order, shape, diary
        # A pull is this runtime's build.
        self._patience = Patience(wait_s, order.build_timeout_s + order.start_timeout_s)
        self._asked = words.asked_of(order)
        self._name, self._uid = words.pod_name(order), ""
        self._place = words.Place()
        self._co_tenants: int | None = None
        self._seen: KubeEvidence | None = None
        self._granted: KubePod | None = None
        self._lock = threading.Lock()
        self._stopped = False

    @property
    def api(self) -> Api:
        """The cluster's API."""
        return self._cluster.api

    @property
    def profiles(self) -> Profiles:
        """What the cluster's nodes are."""
        return self._cluster.profiles

    @property
    def path(self) -> str:
        """Where the pod's object lies."""
        return self._cluster.path(self._name)

    @property
    def now(self) -> dict[str, Any]:
        """The pod's newest object."""
        return self._cluster.reflector.history(self._uid)[-1].pod

    def begin(self) -> None:
        """Find it a place, make the pod, and wait until it runs.

        Raises:
            Unschedulable, ImagePullFailed, StartFailed: in the cluster's words.
            Refused: the cluster admitted other limits than the band's.
        """
        if (refusal := self._cluster.reflector.feed.refusal) is not None:
            raise StartFailed(f"pods cannot be watched: {refusal}")
        self._place = settle(self._cluster, self._order)
        manifest = words.manifest(self._order, self._shape, time.time(), self._place)
        try:
            made = self._make(manifest)
        except PodError:
            self._cluster.reflector.expect_no_more(self._name)
            self._cluster.berths.give_back(self._asked.pods_per_node, self._place.slot)
            raise
        self._uid = made["metadata"]["uid"]
        self._cluster.reflector.follow(made)
        self._refuse_surprises(manifest, made)
        self._await_running()
        node = self.now["spec"].get("nodeName", "")
        self._co_tenants = self._cluster.reflector.on_node(node) - 1

    def _make(self, manifest: dict[str, Any]) -> dict[str, Any]:
        self._refuse_what_fits_nowhere(manifest)
        self._cluster.reflector.expect(self._name)
        try:
            return self._cluster.create(manifest, self._patience.schedule_s)
        except Unschedulable as full:
            self._seen = KubeEvidence(overdue="schedule", quota=str(full))
            raise
        except ApiTrouble as trouble:
            raise StartFailed(f"the cluster does not take the pod: {trouble}") from trouble

    def end(self) -> None:
        """Delete the pod, and wait until its last words have been heard."""
        with self._lock:
            if not self._uid or self._stopped:  # it may be under way: then it is ended later
                return
            try:
                self._remove()
            except ApiTrouble as trouble:
                raise PodLost(f"pod {self._name} stays: {trouble}", reason="removal") from trouble
            finally:
                self._seen, self._granted = self.facts(), self.granted()
            self._stopped = True
            self._cluster.berths.give_back(self._asked.pods_per_node, self._place.slot)
            self._cluster.reflector.forget(self._uid)

    def ending(self, verdict_at: float | None = None) -> KubeEvidence | None:
        """What the cluster told of this pod until now; None where it was never asked for.

        Args:
            verdict_at: when the verdict was read, Unix seconds of this machine.
        """
        seen = self._seen or (self.facts() if self._uid else None)
        if seen is None or verdict_at is None:
            return seen
        skew_s = self._cluster.api.skew_s or 0.0
        return seen.model_copy(update={"verdict_at": verdict_at + skew_s})

    def granted(self) -> KubePod | None:
        """What the cluster gave this pod; None where it never took it."""
        history = self._cluster.reflector.history(self._uid) if self._uid else ()
        if not history:
            return self._granted
        free = [step.pod for step in history if not step.ours] or [history[0].pod]
        found = kube_pod(free[-1], self._cluster.events.of(self._uid))
        return found.model_copy(
            update={
                "dealt": self._place.dealt,
                "co_tenants": self._co_tenants,
                "skew_s": self._cluster.api.skew_s,
                "cluster_version": self._cluster.version,
            }
        )

    def alive(self) -> bool:
        """Whether commands can be run in it, as far as is known."""
        if not self._uid or self._stopped:
            return False
        history = self._cluster.reflector.history(self._uid)
        return bool(history) and not gone(history) and not kube_reading.facts(history).ended

    def await_end(self) -> None:
        """Wait, for as long as a status lags, until the pod is known to have ended."""
        self._cluster.reflector.wait(
            self._uid, lambda history: not history or _over(history), STATUS_LAGS_S
        )

    def _remove(self) -> None:
        """Say that it is us, then delete, and hear the pod out."""
        reflector = self._cluster.reflector
        reflector.ours(self._uid)
        self._diary.intent("cleanup", self._uid, self._name)
        self._cluster.delete(self._name, self._uid)
        if self._asked.evidence_finalizer:
            reflector.wait(self._uid, _told, words.GRACE_S + REMOVAL_SLACK_S)
            self._cluster.release(self._name, self._uid)
        if not reflector.wait(self._uid, gone, words.GRACE_S + REMOVAL_SLACK_S):
            self._cluster.delete(self._name, self._uid, grace_s=0)
            reflector.look(self._uid)

    def lost(self, symptom: str) -> PodLost:
        """The error for work in the pod that broke off, with what became of it as facts."""
        if not self._uid or self._stopped:
            return PodLost(f"pod {self._name} is not there: {symptom}", reason="removed")
        with suppress(ApiTrouble):
            self._cluster.reflector.look(self._uid)
        seen = self.facts()
        reason = seen.disruption or seen.reason or seen.ended_as or "connection"
        return PodLost(
            f"pod {self._name} ({seen.phase or 'gone'}): {symptom}",
            reason=reason,
            oom_killed=seen.oom_killed,
            exit_code=seen.exit_code,
        )

    def facts(self, *, troubled: bool = False) -> KubeEvidence:
        """What its history says; node and events are asked for where something went wrong."""
        history = self._cluster.reflector.history(self._uid)
        if not history:
            return self._seen or KubeEvidence()
        seen = kube_reading.facts(history, intent="cleanup" if history[-1].ours else "")
        if not (troubled or seen.ended or seen.deleted or seen.disruption):
            return seen
        skew_s = self._cluster.api.skew_s or 0.0
        since = None if seen.disrupted_at is None else seen.disrupted_at - skew_s
        node = self._cluster.nodes.seen(seen.node.name, since)
        told = kube_reading.troubles(self._cluster.events.of(self._uid))
        update: dict[str, object] = {"node": node, "troubles": told}
        if self._seen is not None:
            update |= {"overdue": self._seen.overdue, "floor_fits": self._seen.floor_fits}
        return seen.model_copy(update=update)

    def _refuse_what_fits_nowhere(self, manifest: Mapping[str, Any]) -> None:
        requests = manifest["spec"]["containers"][0]["resources"]["requests"]
        if self._cluster.fits(requests) == "no":
            error, self._seen = unfitting(requests)
            raise error

    def _refuse_surprises(self, manifest: Mapping[str, Any], made: Mapping[str, Any]) -> None:
        asked, admitted = (p["spec"]["containers"][0].get("resources") for p in (manifest, made))
        found = surprises(asked or {}, admitted or {}) + strangers(manifest, made)
        if found:
            raise Refused(
                f"the cluster admitted another band than was asked: {'; '.join(found)}; remove the "
                "LimitRange or webhook that does this, or ask for what it grants",
                reason="admitted_differs",
            )

    def _await_running(self) -> None:
        at = self._stage()
        while at in ("schedule", "start"):
            if not self._leaves(at):
                seen = self.facts(troubled=True)
                requests = words.resources(self._order.limits, self._asked.qos)["requests"]
                late = {"overdue": kubernetes_start.overdue(at, seen)}
                self._seen = seen.model_copy(
                    update=late | {"floor_fits": self._cluster.fits(requests)}
                )
                raise kubernetes_start.problem(at, self._seen)
            at = self._stage()
        if at == "over":
            self._seen = self.facts(troubled=True)
            raise kubernetes_start.problem(at, self._seen)

    def _leaves(self, at: kubernetes_start.Stage) -> bool:
        """Wait until the pod is no longer at a stage; False if that outlasts our patience."""
        return self._cluster.reflector.wait(
            self._uid, lambda _: self._stage() != at, self._patience.of(at)
        )

    def _stage(self) -> kubernetes_start.Stage:
        history = self._cluster.reflector.history(self._uid)
        pod = history[-1].pod
        states = (pod.get("status") or {}).get("containerStatuses") or ()
        return kubernetes_start.stage(
            kube_reading.facts(history),
            bound=bool(pod["spec"].get("nodeName")),
            running=any("running" in (one.get("state") or {}) for one in states),
        )


def _told(history: tuple[kube_reading.Transition, ...]) -> bool:
    """Its last words have been heard; a finalizer still holds its object."""
    ended = (history[-1].pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return ended or gone(history)


def _over(history: Sequence[kube_reading.Transition]) -> bool:
    last = history[-1]
    return gone(tuple(history)) or last.ours or kube_reading.facts(history).ended
