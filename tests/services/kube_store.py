"""What a fake API server holds: objects, their versions, and the log that watches read.

Written from the recorded answers of a real server (`tests/golden/kubernetes/api-semantics.json`).
"""

import copy
import re
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from infranoise.models.kube_quantity import quantity

Object = dict[str, Any]
KINDS = {
    "namespaces": "Namespace",
    "serviceaccounts": "ServiceAccount",
    "pods": "Pod",
    "events": "Event",
    "nodes": "Node",
    "configmaps": "ConfigMap",
    "networkpolicies": "NetworkPolicy",
}
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
NAME_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{NAME.pattern}')"
)
POD_FIELDS = {
    "containers", "restartPolicy", "terminationGracePeriodSeconds", "activeDeadlineSeconds",
    "automountServiceAccountToken", "enableServiceLinks", "securityContext", "nodeSelector",
    "nodeName", "volumes", "tolerations", "priorityClassName", "runtimeClassName",
    "serviceAccountName", "serviceAccount", "dnsPolicy", "schedulerName", "priority",
    "preemptionPolicy",
}  # fmt: skip


class Denied(Exception):
    """An answer that is a Status."""

    def __init__(self, code: int, reason: str, message: str, **details: Any) -> None:
        self.body: Object = {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": code,
        }  # fmt: skip
        if details:
            self.body["details"] = details
        super().__init__(message)


class Change(NamedTuple):
    """One entry of the log."""

    version: int
    type: str
    resource: str
    object: Object


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Store:
    """All objects, under one lock. `heard` is called after each change."""

    def __init__(self, first_version: int = 200) -> None:
        self.lock = threading.RLock()
        self.version = first_version
        self.oldest = 0
        self.log: list[Change] = []
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.heard: list[Callable[[Change], None]] = []
        self.admit: list[Callable[[Object], None]] = []
        self.wants_service_account = False

    # --- reading ---

    def get(self, resource: str, namespace: str, name: str) -> Object:
        with self.lock:
            found = self.objects.get((resource, namespace, name))
            if found is None:
                raise _missing(resource, name)
            return copy.deepcopy(found)

    def all_of(self, resource: str, namespace: str | None = None) -> list[Object]:
        with self.lock:
            return [
                copy.deepcopy(found)
                for (kind, place, _), found in sorted(self.objects.items())
                if kind == resource and namespace in (None, place)
            ]

    def since(self, version: int) -> list[Change]:
        with self.lock:
            return [change for change in self.log if change.version > version]

    def compact(self) -> None:
        """Forget the log: watches from before now are too old."""
        with self.lock:
            self.log.clear()
            self.oldest = self.version

    # --- writing ---

    def create(
        self,
        resource: str,
        namespace: str,
        body: Object,
        *,
        strict: bool = False,
        dry: bool = False,
    ) -> Object:
        with self.lock:
            found = copy.deepcopy(body)
            metadata = found.setdefault("metadata", {})
            if "name" not in metadata and "generateName" in metadata:
                metadata["name"] = metadata["generateName"] + uuid.uuid4().hex[:5]
            name = metadata["name"]
            self._check_place(resource, namespace, name)
            if resource == "pods":
                self._check_pod(found, name, namespace, strict)
            if (resource, namespace, name) in self.objects:
                words = f'{resource} "{name}" already exists'
                raise Denied(409, "AlreadyExists", words, name=name, kind=resource)
            found |= {"kind": KINDS[resource], "apiVersion": "v1"}
            if namespace:
                metadata["namespace"] = namespace
            metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": now()}
            _default(resource, found)
            if resource == "pods":
                for change in self.admit:
                    change(found)
            return found if dry else self._put("ADDED", resource, found)

    def patch(
        self, resource: str, namespace: str, name: str, patch: Object, *, sub: str = ""
    ) -> Object:
        """A merge patch of the object, or of its status alone."""
        with self.lock:
            was = self.get(resource, namespace, name)
            found = _merged(was, {"status": patch.get("status", {})} if sub == "status" else
                            {k: v for k, v in patch.items() if k != "status"})  # fmt: skip
            return self._replace(resource, was, found)

    def put(self, resource: str, namespace: str, name: str, body: Object) -> Object:
        with self.lock:
            was = self.get(resource, namespace, name)
            version = body["metadata"].get("resourceVersion")
            if version and version != was["metadata"]["resourceVersion"]:
                words = (
                    f'Operation cannot be fulfilled on {resource} "{name}": the object has been '
                    "modified; please apply your changes to the latest version and try again"
                )
                raise Denied(409, "Conflict", words, name=name, kind=resource)
            return self._replace(resource, was, body | {"status": was.get("status", {})})

    def delete(
        self, resource: str, namespace: str, name: str, *, grace_s: int | None = None, uid: str = ""
    ) -> Object:
        with self.lock:
            found = self.get(resource, namespace, name)
            metadata = found["metadata"]
            if uid and uid != metadata["uid"]:
                words = (
                    f'Operation cannot be fulfilled on {KINDS[resource]} "{name}": the UID in the '
                    f"precondition ({uid}) does not match the UID in record ({metadata['uid']}). "
                    "The object might have been deleted and then recreated"
                )
                raise Denied(409, "Conflict", words, name=name, kind=KINDS[resource])
            bound = resource == "pods" and found["spec"].get("nodeName")
            grace_s = (
                found["spec"]["terminationGracePeriodSeconds"]
                if (bound and grace_s is None)
                else (grace_s or 0)
                if bound
                else 0
            )
            if "deletionTimestamp" not in metadata or grace_s == 0:
                first = "deletionTimestamp" not in metadata
                metadata["deletionTimestamp"] = _later(grace_s)
                metadata["deletionGracePeriodSeconds"] = grace_s
                metadata["generation"] = metadata.get("generation", 1) + int(first)
                if resource == "pods":
                    found = self._put("MODIFIED", resource, found)
            if grace_s == 0 and not metadata.get("finalizers"):
                return self._put("DELETED", resource, found)
            return found

    def status(self, namespace: str, name: str, status: Object) -> Object | None:
        """What a kubelet writes; None where the pod is gone."""
        with self.lock:
            if ("pods", namespace, name) not in self.objects:
                return None
            was = self.get("pods", namespace, name)
            return self._replace("pods", was, was | {"status": was["status"] | status})

    def play(self, kind: str, pod: Object, metadata: Object, status: Object) -> None:
        """Put a recorded state of a pod in as it is; nothing where the pod is gone."""
        with self.lock:
            key = ("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])
            found = copy.deepcopy(self.objects.get(key))
            if found is None:
                return
            ending = ("deletionTimestamp", "deletionGracePeriodSeconds")
            found["metadata"] |= {k: metadata[k] for k in ending if k in metadata}
            found["status"] = copy.deepcopy(status)
            if {"PodScheduled": "True"} in [
                {one["type"]: one["status"]} for one in status.get("conditions", ())
            ]:
                found["spec"]["nodeName"] = "node-1"
            self._put("DELETED" if kind == "DELETED" else "MODIFIED", "pods", found)

    def bind(self, namespace: str, name: str, node: str) -> Object:
        """What a scheduler writes."""
        with self.lock:
            found = self.get("pods", namespace, name)
            found["spec"]["nodeName"] = node
            found["status"].setdefault("conditions", []).append(
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": now()}
            )
            return self._put("MODIFIED", "pods", found)

    # --- inside ---

    def _replace(self, resource: str, was: Object, found: Object) -> Object:
        if resource == "pods" and _fixed(was) != _fixed(found):
            words = (
                f'Pod "{was["metadata"]["name"]}" is invalid: spec: Forbidden: pod updates may not '
                "change fields other than `spec.containers[*].image`"
            )
            raise Denied(422, "Invalid", words, name=was["metadata"]["name"], kind="Pod")
        if found == was:
            return was  # no version, no event
        metadata = found["metadata"]
        freed = was["metadata"].get("finalizers") and not metadata.get("finalizers")
        if "deletionTimestamp" in metadata and freed:
            self._put("DELETED", resource, copy.deepcopy(found))
            return found
        return self._put("MODIFIED", resource, found)

    def _put(self, kind: str, resource: str, found: Object) -> Object:
        self.version += 1
        metadata = found["metadata"]
        metadata["resourceVersion"] = str(self.version)
        key = (resource, metadata.get("namespace", ""), metadata["name"])
        if kind == "DELETED":
            self.objects.pop(key, None)
        else:
            self.objects[key] = copy.deepcopy(found)
        change = Change(self.version, kind, resource, copy.deepcopy(found))
        self.log.append(change)
        for tell in self.heard:
            tell(change)
        return copy.deepcopy(found)

    def _check_place(self, resource: str, namespace: str, name: str) -> None:
        if namespace and ("namespaces", "", namespace) not in self.objects:
            raise _missing("namespaces", namespace)
        if not NAME.fullmatch(name):
            words = f'Invalid value: "{name}": {NAME_RULE}'
            raise _invalid(KINDS[resource], name, "metadata.name", words)

    def _check_pod(self, pod: Object, name: str, namespace: str, strict: bool) -> None:
        unknown = [key for key in pod["spec"] if key not in POD_FIELDS]
        if unknown and strict:
            words = (
                'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown '
                f'field "spec.{unknown[0]}"'
            )
            raise Denied(400, "BadRequest", words)
        account = pod["spec"].get("serviceAccountName", "default")
        known = ("serviceaccounts", namespace, account) in self.objects
        if self.wants_service_account and not known:
            words = (
                f'pods "{name}" is forbidden: error looking up service account '
                f'{namespace}/{account}: serviceaccount "{account}" not found'
            )
            raise Denied(403, "Forbidden", words, name=name, kind="pods")
        for number, container in enumerate(pod["spec"]["containers"]):
            _check_resources(name, number, container.get("resources") or {})


def _check_resources(pod: str, number: int, resources: Object) -> None:
    limits = resources.get("limits") or {}
    for kind, asked in (resources.get("requests") or {}).items():
        top = limits.get(kind)
        if top is not None and quantity(asked) > quantity(top):
            words = f'Invalid value: "{asked}": must be less than or equal to {kind} limit of {top}'
            field = f"spec.containers[{number}].resources.requests"
            raise _invalid("Pod", pod, field, words)


def _default(resource: str, found: Object) -> None:
    metadata = found["metadata"]
    if resource == "namespaces":
        metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = metadata["name"]
        found |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    if resource != "pods":
        return
    metadata["generation"] = 1
    defaults: Object = {
        "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst", "serviceAccountName": "default", "serviceAccount": "default",
        "securityContext": {}, "schedulerName": "default-scheduler", "priority": 0,
        "enableServiceLinks": True, "preemptionPolicy": "PreemptLowerPriority",
    }  # fmt: skip
    found["spec"] = defaults | found["spec"]
    for container in found["spec"]["containers"]:
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        tagged = ":" in container["image"].rpartition("/")[2]
        container.setdefault("imagePullPolicy", "IfNotPresent" if tagged else "Always")
        resources = container.setdefault("resources", {})
        for kind, top in (resources.get("limits") or {}).items():
            resources.setdefault("requests", {}).setdefault(kind, top)
    found["status"] = {"phase": "Pending", "qosClass": qos_class(found["spec"]["containers"])}


def qos_class(containers: list[Object]) -> str:
    """The class that the API server gives a pod."""
    asked = [container.get("resources") or {} for container in containers]
    if not any(one.get("requests") or one.get("limits") for one in asked):
        return "BestEffort"
    pinned = all(
        {"cpu", "memory"} <= set(one.get("limits") or {})
        and all(one["requests"].get(kind) == one["limits"][kind] for kind in ("cpu", "memory"))
        for one in asked
    )
    return "Guaranteed" if pinned else "Burstable"


def _fixed(pod: Object) -> Object:
    return {k: v for k, v in pod["spec"].items() if k in ("restartPolicy", "dnsPolicy")}


def _merged(was: Any, patch: Any) -> Any:
    if not isinstance(patch, dict) or not isinstance(was, dict):
        return patch
    found = {k: v for k, v in was.items() if k not in patch or patch[k] is not None}
    return found | {k: _merged(was.get(k, {}), v) for k, v in patch.items() if v is not None}


def _later(seconds: int) -> str:
    at = datetime.now(UTC).timestamp() + seconds
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _missing(resource: str, name: str) -> Denied:
    return Denied(404, "NotFound", f'{resource} "{name}" not found', name=name, kind=resource)


def _invalid(kind: str, name: str, field: str, words: str) -> Denied:
    causes = [{"reason": "FieldValueInvalid", "message": words, "field": field}]
    whole = f'{kind} "{name}" is invalid: {field}: {words}'
    return Denied(422, "Invalid", whole, name=name, kind=kind, causes=causes)
