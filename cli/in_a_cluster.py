"""A run whose pods are a cluster's: the cluster is asked first, and nothing is left in it."""

import os

from rich.console import Console

from ..models.errors import Refused
from ..workers.settings import worker_settings


def knock() -> None:
    """Ask the cluster that this environment names whether it would take pods of ours.

    Raises:
        Refused: it would not, nobody said which it is, or its client is not installed.
    """
    try:
        from ..workers.pods.kubernetes import door, here
    except ModuleNotFoundError as error:
        raise Refused(f"{error}; install infranoise[kubernetes]") from error
    settings = worker_settings(os.environ)
    shape = here.shape_of(settings)
    door.knock(here.api_of(settings), shape)


def tidy(experiment: str, console: Console) -> None:
    """Delete the run's ConfigMap, and with it whatever pod it still owns: the run is over."""
    from ..workers.pods.kubernetes import here
    from ..workers.pods.kubernetes.api import ApiTrouble
    from ..workers.pods.kubernetes.runs import Runs

    settings = worker_settings(os.environ)
    try:
        Runs(here.api_of(settings), settings.namespace).remove(experiment)
    except (ApiTrouble, Refused) as trouble:
        console.print(
            f"the run's ConfigMap stays in the cluster: {trouble}; when it can be removed: "
            f"infranoise sweep {experiment} --all",
            markup=False,
            highlight=False,
        )
