"""`infranoise sweep`: remove from a cluster what a run left there."""

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from ..models.errors import DesignError, StartFailed

LEFT = 1


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asked of a sweep. `experiment` None: of every run, what has expired."""

    experiment: str | None
    everything: bool
    evidence: Path
    as_json: bool = False


def sweep(asked: Asked) -> int:
    """Sweep; exit code 1 where something stays.

    Raises:
        DesignError: everything of every run was asked for, or no cluster is named.
        PodError: the cluster does not answer.
    """
    from ..workers.pods.kubernetes import here
    from ..workers.pods.kubernetes import sweep as sweeping
    from ..workers.pods.kubernetes.api import ApiTrouble
    from ..workers.pods.kubernetes.cluster import Cluster
    from ..workers.pods.kubernetes.diary import Diary
    from ..workers.settings import worker_settings

    if asked.everything and asked.experiment is None:
        raise DesignError("--all removes pods that still run: name the experiment that they are of")
    settings = worker_settings(os.environ)
    cluster = Cluster(here.api_of(settings), here.shape_of(settings).namespace)
    diary = Diary(asked.evidence)
    try:
        swept = sweeping.sweep(
            cluster, diary, asked.experiment, now=time.time(), everything=asked.everything
        )
    except ApiTrouble as trouble:
        raise StartFailed(f"the cluster's pods cannot be swept: {trouble}") from trouble
    stay = [one for one in swept if one.why_it_stays]
    if asked.as_json:
        print(json.dumps({"swept": [asdict(one) for one in swept], "stay": len(stay)}))
        return LEFT if stay else 0
    for one in stay:
        print(f"{one.pod} stays: {one.why_it_stays}")
    print(f"{len(swept) - len(stay)} pods removed, {len(stay)} stay; evidence in {asked.evidence}")
    return LEFT if stay else 0
