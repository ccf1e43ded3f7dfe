"""Commands that stay: scheduler, worker, gateway, flower. Each is one process of a fleet."""

from pathlib import Path
from typing import Annotated

import typer

from .fleet_options import AliveFile, Blobs, Broker, JsonLines, Store


def register(app: typer.Typer) -> None:
    """Add these commands to the program."""
    for command in (scheduler, worker, gateway, flower):
        app.command(rich_help_panel="A fleet")(command)


def scheduler(
    store: Store, broker: Broker, alive: AliveFile = None, json: JsonLines = False
) -> None:
    """Place what is owed on the nodes, and take in what comes home. Stop it with SIGTERM or Ctrl-C.

    Several may run: one leads, the others take over within seconds. Attempts under way go on when
    it stops; it begins again from the ledger, also after a restart of the queue server or store.

    \b
    infranoise scheduler --store postgresql://home/infranoise \\
      --broker redis://home:6379/0
    INFRANOISE_BROKER_URL=redis://home infranoise scheduler --store ledger.sqlite
    """
    from .scheduler_service import serve

    raise typer.Exit(serve(store, broker, alive, as_json=json))


def worker(
    broker: Broker,
    node: Annotated[
        str | None,
        typer.Option(
            help="This node's id, its own in the fleet. \\[default: the host's name]",
            envvar="INFRANOISE_NODE",
            show_default=False,
        ),
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Trials in flight here at most. \\[default: its cores]",
            envvar="INFRANOISE_SLOTS",
            show_default=False,
        ),
    ] = None,
    cpus: Annotated[
        float | None,
        typer.Option(
            help="Cores that floors may take. \\[default: all]",
            envvar="INFRANOISE_CPUS",
            show_default=False,
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Memory that floors may take, such as 48G. \\[default: 95 % of the machine's]",
            envvar="INFRANOISE_MEMORY",
            show_default=False,
        ),
    ] = None,
    runtime: Annotated[
        list[str] | None,
        typer.Option(
            help="Offer these kinds of pods only (process, docker, kubernetes). "
            "\\[default: what there is]",
            envvar="INFRANOISE_RUNTIMES",
            show_default=False,
        ),
    ] = None,
    blobs: Blobs = None,
    state: Annotated[
        Path | None,
        typer.Option(
            help="A folder on a real disk for pods and tasks. \\[default: /var/lib/infranoise]",
            envvar="INFRANOISE_STATE",
            show_default=False,
        ),
    ] = None,
    grace: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Seconds that attempts get when the worker is told to go. \\[default: 300]",
            envvar="INFRANOISE_GRACE",
            show_default=False,
        ),
    ] = None,
    alive: AliveFile = None,
    probe_every: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Seconds between probes of the node's speed, never beside a trial; 0: no probes. "
            "\\[default: 3600]",
            envvar="INFRANOISE_PROBE_EVERY",
            show_default=False,
        ),
    ] = None,
    reach: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Also try to reach these, beside name servers and the engine's registries.",
            envvar="INFRANOISE_REACH",
            show_default=False,
        ),
    ] = None,
    egress_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=ADDRESS",
            help="Where pods with an allow-list find a host that this node has elsewhere, such as "
            "a mirror.",
            envvar="INFRANOISE_EGRESS_HOSTS",
            show_default=False,
        ),
    ] = None,
    log_level: Annotated[
        str, typer.Option(help="DEBUG, INFO, WARNING or ERROR.", envvar="INFRANOISE_LOG_LEVEL")
    ] = "WARNING",
) -> None:
    """Run attempts on this machine. SIGTERM: take nothing more, let what runs end, then go.

    It needs no database and no route to one. What does not end within the grace is stopped and
    ends as `preempted`; a worker that is killed is noticed within seconds (`node_lost`).

    \b
    infranoise worker --broker redis://home:6379/0 --node rack1-a --slots 4
    infranoise worker --broker rediss://home:6379/0 --runtime docker \\
      --memory 48G --grace 1800
    """
    from .worker import Asked, work

    asked = Asked(
        broker=broker,
        node=node,
        slots=slots,
        cpus=cpus,
        memory=memory,
        runtimes=tuple(",".join(runtime or ()).replace(",", " ").split()),
        blobs=blobs,
        state=state,
        grace_s=grace,
        alive=alive,
        probe_every_s=probe_every,
        reach=tuple(",".join(reach or ()).replace(",", " ").split()),
        egress_hosts=tuple(",".join(egress_host or ()).replace(",", " ").split()),
    )
    raise typer.Exit(work(asked, log_level=log_level))


def gateway(
    file: Annotated[
        Path,
        typer.Argument(
            help="A TOML file that names providers; an experiment will do.",
            envvar="INFRANOISE_GATEWAY_FILE",
        ),
    ],
    broker: Broker,
    listen: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Listen here; several hosts may share a port. \\[default: 127.0.0.1:8484]",
            envvar="INFRANOISE_GATEWAY_LISTEN",
            show_default=False,
        ),
    ] = None,
    record_content: Annotated[
        Path | None,
        typer.Option(
            help="Keep also what was asked and answered, in here. \\[default: nothing of it]",
            envvar="INFRANOISE_GATEWAY_CONTENT",
            show_default=False,
        ),
    ] = None,
    json: JsonLines = False,
) -> None:
    """Pass agents' calls on to the APIs of their models. Keys stay here; pods hold tokens.

    A token is good for one attempt, one model and an allowance, and ends with its attempt. What
    each call took is measured; nothing is tried again. `run` brings a gateway of its own. Tokens
    are signed with INFRANOISE_GATEWAY_SECRET (or …_FILE), which `scheduler` needs as well.

    \b
    infranoise gateway providers.toml --broker redis://home:6379/0
    infranoise gateway providers.toml --listen 0.0.0.0:8484 \\
      --broker rediss://home:6379/0
    """
    from .gateway import Asked
    from .gateway import gateway as serve_gateway

    asked = Asked(file, broker, tuple(listen or ["127.0.0.1:8484"]), record_content, json)
    raise typer.Exit(serve_gateway(asked))


def flower(
    broker: Broker,
    address: Annotated[
        str, typer.Option(help="Listen here.", envvar="INFRANOISE_FLOWER_ADDRESS")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Listen on this port.", envvar="INFRANOISE_FLOWER_PORT")
    ] = 5555,
    auth: Annotated[
        str | None,
        typer.Option(
            help="user:password that Flower asks for; needed beyond this machine.",
            envvar="INFRANOISE_FLOWER_AUTH",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show the fleet's workers and attempts in Flower, read-only.

    Each row bears the trial's task, entry, band and sample; its id is the attempt's, as in
    `infranoise trial show`.

    \b
    infranoise flower --broker redis://home:6379/0
    infranoise flower --broker redis://home:6379/0 --address 0.0.0.0 \\
      --auth team:secret
    """
    from .flower import show

    raise typer.Exit(show(broker, address=address, port=port, auth=auth))
