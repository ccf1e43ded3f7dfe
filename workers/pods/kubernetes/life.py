"""A pod's life in a cluster: asked for, awaited, lost or ended."""

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ....models import kube_reading
from ....models.errors import PodError, PodLost, Refused, StartFailed, Unschedulable
from ....models.kube_evidence import KubeEvidence
from ..pod import PodOrder
from . import start as kubernetes_start
from . import words
from .api import Api, ApiRefused, ApiTrouble
from .cluster import Cluster, unfitting
from .diary import Diary
from .leftovers import Leftovers
from .limits import strangers, surprises
from .placing import settle
from .profiles import Profiles
from .start import Patience
from .watch import gone
from .witness import Witness

STATUS_LAGS_S = 6.0  # a status follows the end that it tells of by up to some seconds
REMOVAL_SLACK_S = 30.0


class Life:
    """The life of one pod. Its history is the reflector's, what is told of it the witness's."""

    def __init__(
        self,
        cluster: Cluster,
        order: PodOrder,
        shape: words.Shape,
        diary: Diary,
        leftovers: Leftovers,
    ) -> None:
        self._cluster, self._order, self._shape = cluster, order, shape
        self._diary, self._leftovers = diary, leftovers
        self._asked = words.asked_of(order)
        # A pull is this runtime's build.
        start_s = order.build_timeout_s + order.start_timeout_s
        self._patience = Patience(self._asked.schedule_timeout_s, start_s)
        self._name = words.pod_name(order)
        self._lock = threading.Lock()
        self.witness = Witness(cluster)

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

    def begin(self) -> None:
        """Find it a place, make the pod, and wait until it runs.

        Raises:
            Unschedulable, ImagePullFailed, StartFailed: in the cluster's words.
            Refused: the cluster admitted other limits than the band's.
        """
        if (refusal := self._cluster.reflector.feed.refusal) is not None:
            raise StartFailed(f"pods cannot be watched: {refusal}")
        self.witness.place = settle(self._cluster, self._order)
        manifest = words.manifest(self._order, self._shape, time.time(), self.witness.place)
        called = time.monotonic()
        try:
            made = self._make(manifest)
        except PodError:
            self._cluster.reflector.expect_no_more(self._name)
            self._cluster.berths.give_back(self._asked.pods_per_node, self.witness.place.slot)
            raise
        self.witness.uid = made["metadata"]["uid"]
        self._cluster.reflector.follow(made)
        self._refuse_surprises(manifest, made)
        self._await_running(self._patience.after(time.monotonic() - called))
        node = self.witness.now["spec"].get("nodeName", "")
        self.witness.co_tenants = self._cluster.reflector.on_node(node) - 1

    def end(self) -> None:
        """Delete the pod, and wait until its last words have been heard.

        Raises:
            PodLost: it stays; it is told to go again until it goes.
        """
        with self._lock:
            if not self.witness.open:  # it may be under way: then it is ended later
                return
            try:
                self._remove()
            except ApiTrouble as trouble:
                self._leftovers.add(self._name)
                raise PodLost(f"pod {self._name} stays: {trouble}", reason="removal") from trouble
            finally:
                self.witness.close()
                slot = self.witness.place.slot
                self._cluster.berths.give_back(self._asked.pods_per_node, slot)
                self._cluster.reflector.forget(self.witness.uid)

    def await_end(self) -> None:
        """Wait, for as long as a status lags, until the pod is known to have ended."""
        self._cluster.reflector.wait(
            self.witness.uid, lambda history: not history or _over(history), STATUS_LAGS_S
        )

    def lost(self, symptom: str) -> PodLost:
        """The error for work in the pod that broke off, with what became of it as facts.

        What ended the pod may be told some seconds after its end was felt.
        """
        if not self.witness.open:
            return PodLost(f"pod {self._name} is not there: {symptom}", reason="removed")
        with suppress(ApiTrouble):
            self._cluster.reflector.look(self.witness.uid)
        self.await_end()
        seen = self.witness.facts()
        reason = seen.disruption or seen.reason or seen.ended_as or "connection"
        return PodLost(
            f"pod {self._name} ({seen.phase or 'gone'}): {symptom}",
            reason=reason,
            oom_killed=seen.oom_killed,
            exit_code=seen.exit_code,
        )

    def _make(self, manifest: dict[str, Any]) -> dict[str, Any]:
        self._refuse_what_fits_nowhere(manifest)
        self._cluster.reflector.expect(self._name)
        try:
            return self._cluster.create(manifest, self._patience.schedule_s)
        except Unschedulable as full:
            self.witness.note(KubeEvidence(overdue="schedule", quota=str(full)))
            raise
        except ApiTrouble as trouble:
            if not isinstance(trouble, ApiRefused) or trouble.passing:
                self._leftovers.add(self._name)  # it may be made, or have been
            raise StartFailed(f"the cluster does not take the pod: {trouble}") from trouble

    def _remove(self) -> None:
        """Say that it is us, then delete, and hear the pod out."""
        reflector = self._cluster.reflector
        reflector.ours(self.witness.uid)
        self._diary.intent("cleanup", self.witness.uid, self._name)
        self._cluster.delete(self._name, self.witness.uid)
        if self._asked.evidence_finalizer:
            reflector.wait(self.witness.uid, _told, words.GRACE_S + REMOVAL_SLACK_S)
            self._cluster.release(self._name, self.witness.uid)
        if not reflector.wait(self.witness.uid, gone, words.GRACE_S + REMOVAL_SLACK_S):
            self._cluster.delete(self._name, self.witness.uid, grace_s=0)
            reflector.look(self.witness.uid)

    def _refuse_what_fits_nowhere(self, manifest: Mapping[str, Any]) -> None:
        requests = manifest["spec"]["containers"][0]["resources"]["requests"]
        if self._cluster.fits(requests) == "no":
            error, seen = unfitting(requests)
            self.witness.note(seen)
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

    def _await_running(self, patience: Patience) -> None:
        at = self._stage()
        while at in ("schedule", "start"):
            if not self._leaves(at, patience.of(at)):
                seen = self.witness.facts(troubled=True)
                requests = words.resources(self._order.limits, self._asked.qos)["requests"]
                late = {"overdue": kubernetes_start.overdue(at, seen)}
                seen = seen.model_copy(update=late | {"floor_fits": self._cluster.fits(requests)})
                self.witness.note(seen)
                raise kubernetes_start.problem(at, seen)
            at = self._stage()
        if at == "over":
            seen = self.witness.facts(troubled=True)
            self.witness.note(seen)
            raise kubernetes_start.problem(at, seen)

    def _leaves(self, at: kubernetes_start.Stage, longest_s: float) -> bool:
        """Wait until the pod is no longer at a stage; False if that takes too long."""
        return self._cluster.reflector.wait(
            self.witness.uid, lambda _: self._stage() != at, longest_s
        )

    def _stage(self) -> kubernetes_start.Stage:
        history = self._cluster.reflector.history(self.witness.uid)
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
