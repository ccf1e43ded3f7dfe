"""Commands for a fleet: submit, status, watch, pause, resume, cancel, nodes, trial, logs."""

from typing import Annotated

import typer

from .fleet_options import Blobs, Broker, Flower, MaybeBroker, Name, Store
from .options import File, Json, LeaveOut, Runtime

nodes_app = typer.Typer(help="The nodes of a fleet: list, show, probe, drain, up, forget.")
trial_app = typer.Typer(help="One trial and all of its attempts.", no_args_is_help=True)


PANEL = "A fleet"


def register(app: typer.Typer) -> None:
    """Add these commands to the program."""
    for command in (submit, status, watch, pause, resume, cancel, logs):
        app.command(rich_help_panel=PANEL)(command)
    nodes_app.callback(invoke_without_command=True)(nodes)
    for of_node in (show, probe, drain, up, forget):
        nodes_app.command()(of_node)
    app.add_typer(nodes_app, name="nodes", rich_help_panel=PANEL)
    trial_app.command("show")(trial_show)
    app.add_typer(trial_app, name="trial", rich_help_panel=PANEL)


MaybeName = Annotated[
    str | None, typer.Argument(help="An experiment. \\[default: all]", show_default=False)
]
Node = Annotated[str, typer.Argument(help="The node's id.", show_default=False)]


def submit(
    file: File,
    store: Store,
    broker: MaybeBroker = None,
    blobs: Blobs = None,
    runtime: Runtime = None,
    leave_out: LeaveOut = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Follow it until it is done, as `watch` does.")
    ] = False,
    flower: Flower = None,
    json: Json = False,
) -> None:
    """Hand an experiment to the fleet, and return at once.

    What no node can hold is refused with the reason; a band that fits one node only is told.

    \b
    infranoise submit headroom.toml --store postgresql://home/infranoise \\
      --blobs s3://runs/blobs
    infranoise submit headroom.toml --wait
    """
    from .submit import Asked
    from .submit import submit as hand_over

    asked = Asked(store, broker, blobs, flower, runtime, leave_out, wait, json)
    raise typer.Exit(hand_over(file, asked))


def status(
    store: Store,
    experiment: MaybeName = None,
    broker: MaybeBroker = None,
    flower: Flower = None,
    json: Json = False,
) -> None:
    """Say where experiments are: outcomes, rate, infra errors by band and node, what waits and why.

    \b
    infranoise status
    infranoise status headroom --json
    """
    from .status import status as tell

    raise typer.Exit(tell(store, broker, flower, experiment, as_json=json))


def watch(
    store: Store,
    experiment: MaybeName = None,
    broker: MaybeBroker = None,
    flower: Flower = None,
    json: Json = False,
) -> None:
    """Show a fleet as it works. Ctrl-C ends the looking; the run goes on.

    \b
    infranoise watch headroom
    """
    from .watch import watch as look

    raise typer.Exit(look(store, broker, flower, experiment, as_json=json))


def pause(experiment: Name, store: Store, json: Json = False) -> None:
    """Send nothing more of an experiment; what is under way ends by itself.

    \b
    infranoise pause headroom
    """
    from .steer import steer

    raise typer.Exit(steer(store, experiment, "paused", as_json=json))


def resume(experiment: Name, store: Store, json: Json = False) -> None:
    """Send again what is owed of a paused or cancelled experiment.

    \b
    infranoise resume headroom
    """
    from .steer import steer

    raise typer.Exit(steer(store, experiment, "active", as_json=json))


def cancel(experiment: Name, store: Store, json: Json = False) -> None:
    """Stop an experiment: what is under way is stopped where it runs, outcomes are kept.

    \b
    infranoise cancel headroom
    """
    from .steer import steer

    raise typer.Exit(steer(store, experiment, "cancelled", as_json=json))


def logs(
    attempt: Annotated[
        str, typer.Argument(help="An attempt's id, or a trial's: its last.", show_default=False)
    ],
    store: Store,
    blobs: Blobs = None,
    json: Json = False,
) -> None:
    """Print what agent and verifier of an attempt printed.

    \b
    infranoise logs d92f0ce572a96ada.1
    """
    from .logs import logs as tell

    raise typer.Exit(tell(store, attempt, blobs, as_json=json))


def trial_show(
    trial: Annotated[
        str,
        typer.Argument(
            help="A trial's id, an attempt's, or the begin of its key.", show_default=False
        ),
    ],
    store: Store,
    experiment: Annotated[
        str | None,
        typer.Option(
            help="Of this experiment.", envvar="INFRANOISE_EXPERIMENT", show_default=False
        ),
    ] = None,
    tail: Annotated[int, typer.Option(min=0, help="Lines of each log.")] = 20,
    flower: Flower = None,
    json: Json = False,
) -> None:
    """Show a trial: every attempt with evidence, conditions, clocks, model calls and log tails.

    \b
    infranoise trial show d92f0ce572a96ada
    infranoise trial show 'headroom/mosaic|policy@lean|1x|#3' --json
    """
    from .trial import show as tell

    raise typer.Exit(tell(store, trial, flower, experiment=experiment, tail=tail, as_json=json))


def nodes(context: typer.Context, broker: MaybeBroker = None, json: Json = False) -> None:
    """List the nodes of a fleet, or do something about one.

    \b
    infranoise nodes
    infranoise nodes drain rack1-a --wait
    """
    if context.invoked_subcommand is None:
        from .nodes import listed

        if broker is None:
            missing = "missing: give it, or set INFRANOISE_BROKER_URL"
            raise typer.BadParameter(missing, param_hint="'--broker'")
        raise typer.Exit(listed(broker, as_json=json))


def show(node: Node, broker: Broker, json: Json = False) -> None:
    """Show what a node is, offers and holds.

    \b
    infranoise nodes show rack1-a
    """
    from .nodes import show as tell

    raise typer.Exit(tell(broker, node, as_json=json))


def probe(
    node: Node,
    broker: Broker,
    now: Annotated[
        bool, typer.Option("--now", help="Also where trials run: beside them, and in their way.")
    ] = False,
    within: Annotated[float, typer.Option(help="Seconds to wait for the answer.")] = 60.0,
    json: Json = False,
) -> None:
    """Measure a node's speed now: half a second of fixed work on CPU, memory and disk.

    \b
    infranoise nodes probe rack1-a
    infranoise nodes probe rack1-a --now --json
    """
    from .nodes import probe as do

    raise typer.Exit(do(broker, node, beside=now, within_s=within, as_json=json))


def drain(
    node: Node,
    broker: Broker,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until nothing runs there.")] = False,
    json: Json = False,
) -> None:
    """Give a node nothing more, until it is set up again. What runs there ends by itself.

    \b
    infranoise nodes drain rack1-a --wait
    """
    from .nodes import drain as do

    raise typer.Exit(do(broker, node, wait=wait, as_json=json))


def up(node: Node, broker: Broker, json: Json = False) -> None:
    """Give a drained node trials again.

    \b
    infranoise nodes up rack1-a
    """
    from .nodes import up as do

    raise typer.Exit(do(broker, node, as_json=json))


def forget(node: Node, broker: Broker, json: Json = False) -> None:
    """Drop a node that is gone for good.

    \b
    infranoise nodes forget rack1-a
    """
    from .nodes import forget as do

    raise typer.Exit(do(broker, node, as_json=json))
