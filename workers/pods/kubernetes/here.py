"""The cluster that this worker's environment names."""

from ....models.errors import Refused
from ...settings import WorkerSettings
from .api import Api, connect
from .words import Shape


def shape_of(settings: WorkerSettings) -> Shape:
    """What of a pod is this worker's.

    Raises:
        Refused: no namespace is named; a kubeconfig alone says nothing of whether its cluster is
            meant for this.
    """
    if not settings.namespace:
        raise Refused(
            "no namespace is named for pods; set INFRANOISE_KUBERNETES_NAMESPACE, and "
            "KUBECONFIG where the worker runs outside the cluster"
        )
    return Shape(
        namespace=settings.namespace,
        image_prefix=settings.image_prefix,
        service_account=settings.service_account or None,
    )


def api_of(settings: WorkerSettings) -> Api:
    """A connection to the cluster.

    Raises:
        Refused: there is none.
    """
    return connect(settings.kubeconfig, settings.kube_context)
