"""Commands that work on this machine: demo, run, plan, preflight, doctor."""

from typing import Annotated

import typer

from .options import (
    Arms,
    ArmsOf,
    File,
    Fresh,
    Json,
    LeaveOut,
    Looks,
    Out,
    Preflight,
    ReplayKills,
    Runtime,
    Slots,
    Until,
)


def register(app: typer.Typer) -> None:
    """Add these commands to the program."""
    for command in (demo, run, plan, preflight, doctor):
        app.command()(command)


def demo(
    out: Out = None,
    slots: Slots = None,
    runtime: Runtime = None,
    fresh: Fresh = False,
    json: Json = False,
) -> None:
    """Run the bundled experiment here: real pods, real kills, a report. About two minutes.

    \b
    infranoise demo
    infranoise demo --runtime docker --out /tmp/headroom
    """
    from .run import Asked
    from .run import demo as run_demo

    asked = Asked(out=out, slots=slots, runtime=runtime, fresh=fresh, as_json=json)
    raise typer.Exit(run_demo(asked))


def run(
    file: File,
    out: Out = None,
    slots: Slots = None,
    runtime: Runtime = None,
    leave_out: LeaveOut = False,
    preflight: Preflight = False,
    fresh: Fresh = False,
    replay_kills: ReplayKills = None,
    until: Until = None,
    looks: Looks = None,
    aa: Arms = False,
    aa_band: ArmsOf = None,
    json: Json = False,
) -> None:
    """Run an experiment on this machine. Interrupt it when you like; run it again to go on.

    \b
    infranoise run headroom.toml
    infranoise run headroom.toml --slots 1 --preflight --leave-out
    infranoise run headroom.toml --replay-kills uncapped
    infranoise run headroom.toml --until margin=1.5
    infranoise run headroom.toml --aa
    """
    from .run import Asked, run_file

    asked = Asked(
        out=out,
        slots=slots,
        runtime=runtime,
        leave_out=leave_out,
        preflight=preflight,
        fresh=fresh,
        as_json=json,
        replay_kills=replay_kills,
        until=until,
        looks=looks,
        arms=aa,
        arms_of=aa_band,
    )
    raise typer.Exit(run_file(file, asked))


def plan(
    file: File,
    runtime: Runtime = None,
    power_from: Annotated[
        str | None,
        typer.Option(
            help="Earlier results to size by: a run's folder, a store, a CSV or Parquet table.",
            envvar="INFRANOISE_POWER_FROM",
            show_default=False,
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="What a table's columns are: task=…,entry=…,band=…,passed=…",
            envvar="INFRANOISE_COLUMN",
        ),
    ] = None,
    margin: Annotated[
        float, typer.Option(help="Equivalence margin in points.", envvar="INFRANOISE_MARGIN")
    ] = 3.0,
    json: Json = False,
) -> None:
    """Print what an experiment would run: matrix, counts, time, what it can show. Spends nothing.

    \b
    infranoise plan headroom.toml
    infranoise plan headroom.toml --power-from infranoise-runs/headroom
    """
    from .plan import Question
    from .plan import plan as show

    asked = Question(runtime, power_from, column or (), margin)
    raise typer.Exit(show(file, asked, as_json=json))


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


def doctor(
    kubernetes: Annotated[
        bool,
        typer.Option(
            "--kubernetes",
            help="Examine the cluster instead: rights, admission, and what probe pods find.",
            envvar="INFRANOISE_DOCTOR_KUBERNETES",
        ),
    ] = False,
    image: Annotated[
        str,
        typer.Option(help="Of probe pods: sh, and python3 or nc.", envvar="INFRANOISE_PROBE_IMAGE"),
    ] = "python:3.12-slim",
    no_pods: Annotated[
        bool,
        typer.Option("--no-pods", help="Make no probe pods.", envvar="INFRANOISE_DOCTOR_NO_PODS"),
    ] = False,
    json: Json = False,
) -> None:
    """Say what this machine can enforce, what that means for a run, and how to mend it.

    Of a cluster (KUBECONFIG, INFRANOISE_KUBERNETES_NAMESPACE): what is enforced is tried out in
    probe pods, since objects only say what somebody wishes. About a minute; nothing stays.

    \b
    infranoise doctor
    infranoise doctor --kubernetes --image python:3.12-slim --json
    """
    from .doctor import doctor as check
    from .doctor import doctor_of_a_cluster

    if kubernetes:
        raise typer.Exit(doctor_of_a_cluster(None if no_pods else image, json))
    raise typer.Exit(check(json))
