"""What is settled for a pod just before it is made: where it should go, and whose it is."""

import logging
from collections.abc import Mapping
from typing import Any

from ....models.errors import StartFailed
from ....models.seating import dealt
from ..pod import PodOrder
from . import seats
from .api import ApiTrouble
from .cluster import SYNC_S, Cluster
from .runs import may_not
from .words import Place, asked_of

LOG = logging.getLogger(__name__)


def settle(cluster: Cluster, order: PodOrder) -> Place:
    """A place for an order's pod. Its slot is to be given back when the pod is gone.

    Raises:
        StartFailed: the cluster does not answer.
    """
    asked, owner, nodes = asked_of(order), _owner(cluster, order.experiment), list[str]()
    if order.seat and cluster.nodes.feed.wait(SYNC_S):
        known = cluster.nodes.objects()
        nodes = [node["metadata"]["name"] for node in known if seats.open_to(node, asked)]
    return Place(
        slot=cluster.berths.take(asked.pods_per_node),
        dealt=dealt(nodes, order.seat) if order.seat else (),
        owner=owner,
    )


def _owner(cluster: Cluster, experiment: str) -> Mapping[str, Any] | None:
    try:
        return cluster.runs.owner(experiment).reference
    except ApiTrouble as trouble:
        if not may_not(trouble):
            raise StartFailed(f"the run's ConfigMap cannot be made: {trouble}") from trouble
        LOG.warning("pods have no owner, and go by their expiry alone: %s", trouble)
        return None
