"""Commands that read results: report and analyze."""

from pathlib import Path
from typing import Annotated

import typer

from .options import Json


def register(app: typer.Typer) -> None:
    """Add these commands to the program."""
    for command in (report, analyze):
        app.command()(command)


OneExperiment = Annotated[
    str | None,
    typer.Option(
        "--experiment",
        help="Which experiment of the store. \\[default: the only one]",
        envvar="INFRANOISE_EXPERIMENT",
        show_default=False,
    ),
]
ReportFolder = Annotated[
    Path | None,
    typer.Option("--out", help="Write the report into this folder.", envvar="INFRANOISE_OUT"),
]


def report(
    source: Annotated[
        str, typer.Argument(help="A run's folder, a ledger file, or a database address.")
    ],
    experiment: OneExperiment = None,
    out: ReportFolder = None,
    json: Json = False,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Write the report of a run: a page, a document, tables.

    \b
    infranoise report infranoise-runs/headroom --open
    infranoise report infranoise-runs/headroom --json
    """
    from .report import report as write

    raise typer.Exit(
        write(source, experiment=experiment, out=out, as_json=json, open_page=open_page)
    )


def analyze(
    source: Annotated[
        str,
        typer.Argument(help="A CSV or Parquet table, a run's folder, or a database address."),
    ],
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="What the table's columns are: task=…,entry=…,band=…,passed=…",
            envvar="INFRANOISE_COLUMN",
        ),
    ] = None,
    factor: Annotated[
        list[str] | None,
        typer.Option(
            help="A further factor: NAME, NAME:assigned=trial|wave:COLUMN, NAME:observed.",
            envvar="INFRANOISE_FACTOR",
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            help="The floor band, against which lifts are measured.",
            envvar="INFRANOISE_REFERENCE",
        ),
    ] = None,
    margin: Annotated[
        float, typer.Option(help="Equivalence margin in points.", envvar="INFRANOISE_MARGIN")
    ] = 3.0,
    budget_at: Annotated[
        str | None,
        typer.Option(
            metavar="DESIGN",
            help="Budget the noise of a score of this design: tasks=89,samples=5[,entries=1].",
            envvar="INFRANOISE_BUDGET_AT",
            show_default=False,
        ),
    ] = None,
    aa: Annotated[
        bool,
        typer.Option(
            "--aa",
            help="The two bands are identical arms: judge the instrument.",
            envvar="INFRANOISE_AA",
        ),
    ] = False,
    experiment: OneExperiment = None,
    out: ReportFolder = None,
    json: Json = False,
) -> None:
    """Every number on a run of ours, or on a table of trials that others made.

    \b
    infranoise analyze infranoise-runs/headroom
    infranoise analyze trials.csv --column task=t,entry=m,band=b,passed=y \\
      --factor node --factor hour:observed --reference 1x --json
    """
    from .analyze import analyze as run

    raise typer.Exit(
        run(
            source,
            columns=column or (),
            factors=factor or (),
            reference=reference,
            margin_points=margin,
            experiment=experiment,
            out=out,
            as_json=json,
            arms=aa,
            budget_at=budget_at,
        )
    )
