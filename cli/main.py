"""The `infranoise` command. Heavy rooms are imported by the command that needs them."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from .. import __version__
from ..models.errors import InfranoiseError

EXIT_CODES = """Exit codes: 0 done · 1 this machine or run failed · 2 the request is wrong ·
3 every trial ended in an infra error · 130 interrupted (run again to go on)."""

app = typer.Typer(
    name="infranoise",
    help="How much of an agentic coding eval's score is infrastructure?",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON.", envvar="INFRANOISE_JSON")
]
Experiment = Annotated[
    Path, typer.Argument(help="An experiment file (TOML).", envvar="INFRANOISE_FILE")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="The run's folder. [default: infranoise-runs/<experiment>]",
        envvar="INFRANOISE_OUT",
        show_default=False,
    ),
]
Slots = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Trials in flight on this machine. [default: its cores]",
        envvar="INFRANOISE_SLOTS",
        show_default=False,
    ),
]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Start over: keep the old folder aside, begin a new one.")
]
LeaveOut = Annotated[
    bool,
    typer.Option(
        "--leave-out",
        help="Run without the tasks that cannot run here, instead of stopping.",
        envvar="INFRANOISE_LEAVE_OUT",
    ),
]
Runtime = Annotated[
    str | None,
    typer.Option(
        help="process or docker; overrides [pods] runtime.",
        envvar="INFRANOISE_RUNTIME",
        show_default=False,
    ),
]


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


@app.command()
def demo(
    out: Out = None,
    slots: Slots = None,
    runtime: Runtime = None,
    fresh: Fresh = False,
    json: Json = False,
) -> None:
    """Run the bundled experiment here: real pods, real kills, a report. About three minutes.

    \b
    infranoise demo
    infranoise demo --runtime docker --out /tmp/headroom
    """
    from .run import demo as run_demo

    raise typer.Exit(run_demo(out=out, slots=slots, runtime=runtime, fresh=fresh, as_json=json))


@app.command()
def run(
    file: Experiment,
    out: Out = None,
    slots: Slots = None,
    runtime: Runtime = None,
    leave_out: LeaveOut = False,
    fresh: Fresh = False,
    json: Json = False,
) -> None:
    """Run an experiment on this machine. Interrupt it when you like; run it again to go on.

    \b
    infranoise run headroom.toml
    infranoise run headroom.toml --slots 1 --leave-out
    """
    from .run import run_file

    raise typer.Exit(
        run_file(
            file,
            out=out,
            slots=slots,
            runtime=runtime,
            leave_out=leave_out,
            fresh=fresh,
            as_json=json,
        )
    )


@app.command()
def plan(file: Experiment, runtime: Runtime = None, json: Json = False) -> None:
    """Print what an experiment would run: matrix, counts, time, detectable effect. Spends nothing.

    \b
    infranoise plan headroom.toml
    """
    from .plan import plan as show

    raise typer.Exit(show(file, runtime=runtime, as_json=json))


@app.command()
def preflight(
    tasks: Annotated[
        list[str], typer.Argument(help="Task folders, globs, `bundled:…`, or an experiment file.")
    ],
    runtime: Runtime = None,
    slots: Slots = None,
    static: Annotated[
        bool, typer.Option("--static", help="Only look at the files; start no pod.")
    ] = False,
    json: Json = False,
) -> None:
    """Check tasks on this very infrastructure: no-op must score 0, the oracle 1.

    \b
    infranoise preflight 'terminal-bench-2/*'
    infranoise preflight bundled:headroom --runtime process
    """
    from .preflight import preflight as check

    raise typer.Exit(check(tasks, runtime=runtime, slots=slots, static=static, as_json=json))


@app.command()
def doctor(json: Json = False) -> None:
    """Say what this machine can enforce, what that means for a run, and how to mend it."""
    from .doctor import doctor as check

    raise typer.Exit(check(json))


def main() -> None:
    """Entry point: runs the command, turns errors raised on purpose into one clear line."""
    guarded(app)


def guarded(command: Callable[[], object]) -> None:
    """Run a command; an `InfranoiseError` is printed and ends with code 2, or 1 when not yours."""
    from ..models.errors import DesignError, TaskFileError

    try:
        command()
    except (DesignError, TaskFileError) as error:
        _complain(error)
        sys.exit(2)
    except InfranoiseError as error:
        _complain(error)
        sys.exit(1)


def _complain(error: InfranoiseError) -> None:
    typer.secho(f"infranoise: {error}", fg="red", err=True)
