"""Commands that hold results against each other, ours and others': import, compare, leaderboard."""

from pathlib import Path
from typing import Annotated

import typer

from .options import Json

Kinds = Annotated[
    str,
    typer.Argument(help="harbor, inspect, terminal-bench, swe-bench, table; or auto, by its look."),
]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        help="Where to: a ledger file, a folder or a database address. "
        "\\[default: infranoise-runs/<name>]",
        envvar="INFRANOISE_STORE",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Add these commands to the program."""
    app.command("import")(import_)
    for command in (compare, leaderboard):
        app.command()(command)


def import_(
    kind: Kinds,
    paths: Annotated[list[Path], typer.Argument(help="Folders or files of results.")],
    name: Annotated[
        str | None,
        typer.Option(
            help="The experiment to import into. \\[default: after the first path]",
            envvar="INFRANOISE_NAME",
            show_default=False,
        ),
    ] = None,
    store: Store = None,
    band: Annotated[
        str | None,
        typer.Option(
            help="The configuration that all of it ran under: 1x, 3x, uncapped, or a word.",
            envvar="INFRANOISE_BAND",
        ),
    ] = None,
    entry: Annotated[
        str | None,
        typer.Option(help="One entry's name for all of it.", envvar="INFRANOISE_ENTRY"),
    ] = None,
    modes: Annotated[
        Path | None,
        typer.Option(
            help="A TOML file of your own rules of what the source's endings mean.",
            envvar="INFRANOISE_MODES",
        ),
    ] = None,
    reward: Annotated[
        str | None,
        typer.Option(
            help="Which of several rewards or scorers counts.", envvar="INFRANOISE_REWARD"
        ),
    ] = None,
    max_reward: Annotated[
        float,
        typer.Option(help="The reward that is a pass.", min=1e-9, envvar="INFRANOISE_MAX_REWARD"),
    ] = 1.0,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="What a table's columns are: task=…,passed=…,entry=…,band=…",
            envvar="INFRANOISE_COLUMN",
        ),
    ] = None,
    factor: Annotated[
        list[str] | None,
        typer.Option(help="A further factor of a table: NAME=COLUMN.", envvar="INFRANOISE_FACTOR"),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Say what would go in, how it is read and what is missing; write nothing.",
            envvar="INFRANOISE_DRY_RUN",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Take in results that others produced, and say what they do not record.

    The same results again change nothing. A file that cannot be read is named, the rest goes in:
    then the exit code is 6.

    \b
    infranoise import harbor jobs/2026-11-20__12-00-00 --name headroom --band 1x
    infranoise import inspect logs/ --dry-run
    infranoise import terminal-bench terminal-bench-leaderboard/results
    infranoise import table trials.csv --column task=t,passed=y,entry=m,mode=why
    """
    from .importing import Wanted, import_results

    wanted = Wanted(
        kind=kind,
        paths=tuple(paths),
        name=name,
        store=store,
        band=band,
        entry=entry,
        modes=modes,
        reward=reward,
        most_reward=max_reward,
        columns=tuple(column or ()),
        factors=tuple(factor or ()),
        dry_run=dry_run,
    )
    raise typer.Exit(import_results(wanted, as_json=json))


Side = Annotated[
    str,
    typer.Argument(
        help="A run's folder, a ledger, or others' results; STORE#EXPERIMENT and STORE@ENTRY name "
        "a part of one."
    ),
]
NoiseFrom = Annotated[
    str | None,
    typer.Option(
        "--noise-from",
        help="An experiment whose bands tell what unmatched configurations are worth.",
        envvar="INFRANOISE_NOISE_FROM",
    ),
]
InStore = Annotated[
    str | None,
    typer.Option(
        "--store",
        help="Both are entries of this one store.",
        envvar="INFRANOISE_COMPARE_STORE",  # not the fleet's, which would turn paths into entries
    ),
]


def compare(
    context: typer.Context,
    a: Side,
    b: Side,
    store: InStore = None,
    gate: Annotated[
        bool,
        typer.Option(
            "--gate",
            help="Decide whether B may replace A, by the exit code: 0 GO, 4 NO-GO, 5 INCONCLUSIVE.",
            envvar="INFRANOISE_GATE",
        ),
    ] = False,
    max_drop: Annotated[
        float,
        typer.Option(
            help="How many points B may fall behind A.", min=0.0, envvar="INFRANOISE_MAX_DROP"
        ),
    ] = 0.0,
    target: Annotated[
        str,
        typer.Option(
            help="Gate on these tasks (same) or on others like them (new).",
            envvar="INFRANOISE_TARGET",
        ),
    ] = "same",
    common_tasks: Annotated[
        bool,
        typer.Option(
            "--common-tasks",
            help="Tasks that only one side ran, and trials without an outcome, are left out on "
            "purpose.",
            envvar="INFRANOISE_COMMON_TASKS",
        ),
    ] = False,
    infra_errors: Annotated[
        str,
        typer.Option(
            help="To the gate an infra error's outcome is unknown, or failed: as under the very "
            "limits that count.",
            envvar="INFRANOISE_INFRA_ERRORS",
        ),
    ] = "unknown",
    matched: Annotated[
        bool,
        typer.Option(
            "--matched",
            help="The configurations match, whatever is recorded of them.",
            envvar="INFRANOISE_MATCHED",
        ),
    ] = False,
    noise_from: NoiseFrom = None,
    margin: Annotated[
        float,
        typer.Option(help="Equivalence margin in points.", min=0.001, envvar="INFRANOISE_MARGIN"),
    ] = 3.0,
    json: Json = False,
) -> None:
    """Is B better than A, is it real, and may B replace A?

    Paired within tasks. The difference is B minus A; whatever is imported says first what it does
    not record.

    \b
    infranoise compare jobs/before jobs/after
    infranoise compare gpt-5 claude-4 --store infranoise-runs/headroom
    infranoise compare main.sqlite@agent new.sqlite@agent --gate --max-drop 2
    """
    from .compare import Question, compare_results

    if not gate:
        _only_with_gate(context)
    question = Question(
        a=a,
        b=b,
        store=store,
        gate=gate,
        max_drop_points=max_drop,
        target=target,
        common_tasks=common_tasks,
        infra_errors=infra_errors,
        matched=matched,
        noise_from=noise_from,
        margin_points=margin,
    )
    raise typer.Exit(compare_results(question, as_json=json))


def _only_with_gate(context: typer.Context) -> None:
    """An option of the gate without the gate would be passed over in silence."""
    for name in ("max_drop", "target", "common_tasks", "infra_errors"):
        given = context.get_parameter_source(name)
        if given is not None and given.name == "COMMANDLINE":
            raise typer.BadParameter(f"--{name.replace('_', '-')} decides nothing without --gate")


def leaderboard(
    sources: Annotated[
        list[str],
        typer.Argument(help="Runs' folders, ledgers, or others' results; their entries compete."),
    ],
    noise_from: NoiseFrom = None,
    json: Json = False,
) -> None:
    """Tie groups instead of ranks, scores three ways, infra rates.

    \b
    infranoise leaderboard terminal-bench-leaderboard/results
    infranoise leaderboard a.sqlite b.sqlite --noise-from infranoise-runs/headroom
    """
    from .leaderboard import show_leaderboard

    raise typer.Exit(show_leaderboard(sources, noise_from=noise_from, as_json=json))
