"""Commands about a Kubernetes cluster: sweep."""

from pathlib import Path
from typing import Annotated

import typer

from .options import Json

PANEL = "A Kubernetes cluster"


def register(app: typer.Typer) -> None:
    """Add these commands to the program."""
    app.command(rich_help_panel=PANEL)(sweep)


def sweep(
    experiment: Annotated[
        str | None,
        typer.Argument(
            help="Only pods of this experiment. \\[default: what has expired of any]",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Also pods whose time is not over; then the run's ConfigMap."),
    ] = False,
    evidence: Annotated[
        Path,
        typer.Option(
            help="Keep the object of each pod in this folder before it is deleted.",
            envvar="INFRANOISE_EVIDENCE",
        ),
    ] = Path("infranoise-swept"),
    json: Json = False,
) -> None:
    """Remove pods that a run left in the cluster. Exit code 1 where one stays.

    The cluster is that of KUBECONFIG and INFRANOISE_KUBERNETES_CONTEXT, or the one around; the
    namespace that of INFRANOISE_KUBERNETES_NAMESPACE. Pods that are not ours are never touched.

    \b
    infranoise sweep
    infranoise sweep headroom --all --json
    """
    from .sweep import Asked
    from .sweep import sweep as run_sweep

    raise typer.Exit(run_sweep(Asked(experiment, everything, evidence, json)))
