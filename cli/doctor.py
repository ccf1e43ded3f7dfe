"""`infranoise doctor`: what this machine can enforce."""

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..workers.doctor_check import Check

MACHINE = "This machine can run experiments.", "Nothing here can enforce a memory ceiling."
CLUSTER = "This cluster can run experiments.", "Experiments cannot run here as it is."
SIGNS = {"ok": "[green]ok[/]", "warn": "[yellow]warn[/]", "fail": "[red]fail[/]"}


def doctor(as_json: bool) -> int:
    """Print the findings as a table or JSON; exit code 1 when nothing can enforce a ceiling."""
    from ..workers.doctor import checks, enforces
    from ..workers.settings import worker_settings

    settings = worker_settings(os.environ)
    found = checks(settings.state, settings.reach)
    if as_json:
        print(json.dumps([asdict(check) for check in found], indent=2))
    else:
        _print_table(found)
    return 0 if enforces(found) else 1


def doctor_of_a_cluster(image: str | None, as_json: bool) -> int:
    """The same of the cluster that pods are to run in; exit code 1 where no trial could.

    Raises:
        PodError: no cluster or namespace is named.
    """
    from rich.console import Console

    from ..workers.doctor import enforces
    from ..workers.pods.kubernetes import here
    from ..workers.pods.kubernetes.doctor import checks
    from ..workers.settings import worker_settings

    settings = worker_settings(os.environ)
    shape, api = here.shape_of(settings), here.api_of(settings)
    console = Console(stderr=True)
    with console.status("asking the cluster") as status:
        found = tuple(checks(api, shape, image, status.update))
    if as_json:
        print(json.dumps([asdict(check) for check in found], indent=2))
    else:
        _print_table(found, CLUSTER)
    return 0 if enforces(found) else 1


def _print_table(found: "tuple[Check, ...]", subject: tuple[str, str] = MACHINE) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 1, 0))
    for heading in ("subject", "", "found, and what it means"):
        table.add_column(heading, overflow="fold")
    for check in found:
        remedy = f"\n[bold]Mend:[/] {escape(check.remedy)}" if check.remedy else ""
        table.add_row(
            check.name, SIGNS[check.status], f"{escape(check.found)}\n{check.meaning}{remedy}"
        )
    console = Console()
    console.print(table)
    well, ill = subject
    console.print(ill if any(check.status == "fail" for check in found) else well)
