"""What a worker asks of a cluster's API: each right, and what is lost without it.

`deploy/kubernetes/rights.yaml` grants these and no other; a test holds both against what the code
really asks.
"""

from dataclasses import dataclass
from typing import Any, Literal

from .api import Api, Ask

REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
Need = Literal["must", "evidence", "extra"]


@dataclass(frozen=True, slots=True)
class Right:
    """A verb on a resource, in the namespace of pods, or of the whole cluster.

    `need`: "must", nothing runs without; "evidence", attempts run and less is known of them;
    "extra", for what only some ask for. `lost` says what there is not without it.
    """

    resource: str
    verb: str
    need: Need
    lost: str
    cluster: bool = False

    @property
    def words(self) -> str:
        """As an administrator says it."""
        return f"{self.verb} {self.resource}"


def _each(
    resource: str, verbs: str, need: Need, lost: str, *, cluster: bool = False
) -> list[Right]:
    return [Right(resource, verb, need, lost, cluster) for verb in verbs.split()]


RIGHTS: tuple[Right, ...] = (
    *_each("pods", "create get list watch delete", "must", "no pod can be made, seen or removed"),
    *_each("pods/exec", "get create", "must", "no command can be run in a pod"),
    *_each("pods", "patch", "extra", "`evidence_finalizer` cannot be used: it would never go"),
    *_each("events", "list watch", "evidence", "why a pod does not start is known by halves"),
    *_each("configmaps", "get create", "evidence", "pods of a run have no common owner"),
    *_each("configmaps", "list delete", "extra", "ConfigMaps of runs stay"),
    *_each(
        "nodes",
        "get list watch",
        "evidence",
        "a lost node cannot be told from a deleted pod; bands are not dealt over nodes",
        cluster=True,
    ),
    *_each("nodes/proxy", "get", "extra", "kubelets' settings are unknown", cluster=True),
)


def may(api: Api, right: Right, namespace: str) -> bool:
    """Whether we have a right, by the API's own word.

    Raises:
        ApiTrouble: it does not say.
    """
    resource, _, sub = right.resource.partition("/")
    asked: dict[str, Any] = {"verb": right.verb, "resource": resource, "subresource": sub}
    if not right.cluster:
        asked["namespace"] = namespace
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    answer = api.ask(Ask("POST", REVIEW, body=body), patience_s=5.0)
    return bool((answer.get("status") or {}).get("allowed"))
