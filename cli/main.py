"""The `infranoise` command. Heavy rooms are imported by the command that needs them."""

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from .. import __version__
from ..models.errors import DesignError, InfranoiseError
from . import cluster, fleet, here, others, publish, results, services
from .secret_files import from_files

EXIT_CODES = """Exit codes: 0 done · 1 this machine or run failed · 2 the request is wrong ·
3 every trial ended in an infra error · 4 NO-GO · 5 INCONCLUSIVE (compare --gate) ·
6 some files could not be read, the rest went in (import) · 7 something is unstated
(card --check) · 8 the budget is spent (raise it, run again) ·
130 interrupted (run again to go on)."""

app = typer.Typer(
    name="infranoise",
    help="How much of an agentic coding eval's score is infrastructure?",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"infranoise {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """How much of an agentic coding eval's score is infrastructure?"""


here.register(app)
results.register(app)
others.register(app)
publish.register(app)
fleet.register(app)
services.register(app)
cluster.register(app)


def main() -> None:
    """Entry point: runs the command, turns errors raised on purpose into one clear line."""
    guarded(_with_secrets)


def _with_secrets() -> None:
    os.environ.update(from_files(os.environ))
    app()


def guarded(command: Callable[[], object]) -> None:
    """Run a command; an `InfranoiseError` is printed and ends with code 2, or 1 when not yours."""
    try:
        command()
    except DesignError as error:
        _complain(error)
        sys.exit(2)
    except InfranoiseError as error:
        _complain(error)
        sys.exit(1)


def _complain(error: InfranoiseError) -> None:
    typer.secho(f"infranoise: {error}", fg="red", err=True)
