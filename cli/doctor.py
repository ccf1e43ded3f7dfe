"""`infranoise doctor`: what this machine can enforce."""

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..workers.doctor_check import Check

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


def _print_table(found: "tuple[Check, ...]") -> None:
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
    if any(check.status == "fail" for check in found):
        console.print("Nothing here can enforce a memory ceiling.")
    else:
        console.print("This machine can run experiments.")
