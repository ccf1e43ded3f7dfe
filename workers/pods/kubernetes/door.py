"""Whether a cluster would take pods of ours at all: asked before anything is planned on it."""

from ....models.errors import Refused
from .api import Api, ApiRefused, ApiTrouble, Ask
from .probes import plain_pod
from .rights import RIGHTS, may
from .words import Shape

NOT_FOUND = 404
MORE = "`infranoise doctor --kubernetes` says more"


def knock(api: Api, shape: Shape) -> None:
    """Ask for the cluster's version, for the rights that must be, and for a pod that is not made.

    Raises:
        Refused: no trial could run there, with the remedy.
    """
    try:
        api.ask(Ask("GET", "/version"), patience_s=5.0)
    except ApiTrouble as trouble:
        raise Refused(
            f"the Kubernetes API at {api.host} does not answer: {trouble}; check KUBECONFIG and "
            "INFRANOISE_KUBERNETES_CONTEXT, and the way there"
        ) from trouble
    _refuse_without_rights(api, shape.namespace)
    try:
        path = f"/api/v1/namespaces/{shape.namespace}/pods"
        api.ask(Ask("POST", path, {"dryRun": "All"}, body=plain_pod(shape)), patience_s=5.0)
    except ApiRefused as refusal:
        if refusal.status == NOT_FOUND:
            raise Refused(
                f"there is no namespace {shape.namespace!r} in the cluster at {api.host}: make it, "
                "or set INFRANOISE_KUBERNETES_NAMESPACE to one that is there"
            ) from refusal
        # A quota may have room later, a policy may object to some images only.
    except ApiTrouble:
        return


def _refuse_without_rights(api: Api, namespace: str) -> None:
    must = [right for right in RIGHTS if right.need == "must"]
    try:
        lacking = [right.words for right in must if not may(api, right, namespace)]
    except ApiTrouble:  # it does not say; pods will
        return
    if lacking:
        raise Refused(
            f"in namespace {namespace!r} of {api.host} this account may not {', '.join(lacking)}: "
            f"grant it what deploy/kubernetes/rights.yaml grants to workers; {MORE}"
        )
