"""Commands for what is to be pinned and published: calibrate, card, export."""

from pathlib import Path
from typing import Annotated

import typer

from .options import Json


def register(app: typer.Typer) -> None:
    """Add these commands to the program."""
    for command in (calibrate, card, export):
        app.command()(command)


def calibrate(
    source: Annotated[
        str, typer.Argument(help="A run's folder, a ledger, others' results, or a table.")
    ],
    margin: Annotated[
        float,
        typer.Option(
            help="The score may move by this many points.", min=0.001, envvar="INFRANOISE_MARGIN"
        ),
    ] = 3.0,
    rho: Annotated[
        float,
        typer.Option(
            help="Infra errors must fall below this share of the floor's.", envvar="INFRANOISE_RHO"
        ),
    ] = 0.5,
    target: Annotated[
        str,
        typer.Option(
            help="Equal on these tasks (same) or on others like them (new).",
            envvar="INFRANOISE_TARGET",
        ),
    ] = "same",
    floor: Annotated[
        str | None,
        typer.Option(
            help="The band to compare with. \\[default: the tightest]",
            envvar="INFRANOISE_FLOOR",
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
    json: Json = False,
) -> None:
    """Which floor and ceiling to pin: fewest infra errors, the score provably left alone.

    Prints the evidence per ceiling and a [\\[bands]] table that `run` accepts. Where no ceiling is
    shown to qualify the exit code is 5.

    \b
    infranoise calibrate infranoise-runs/headroom
    infranoise calibrate trials.csv --column task=t,entry=m,band=b,passed=y \\
      --margin 2
    """
    from .calibrate import Rule, calibrate_results

    rule = Rule(margin_points=margin, rho=rho, target=target, floor=floor)
    raise typer.Exit(calibrate_results(source, rule, columns=column or (), as_json=json))


def card(
    source: Annotated[
        str | None,
        typer.Argument(help="A run's folder, a ledger, or others' results.", show_default=False),
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(
            help="Say what this card, or these results, leave unstated: exit code 7.",
            envvar="INFRANOISE_CHECK",
        ),
    ] = None,
    diff: Annotated[
        tuple[str, str] | None,
        typer.Option(
            help="Whether two cards, or results, are matched: exit code 0, 4 if not, 5 if nobody "
            "knows.",
            envvar="INFRANOISE_DIFF",
        ),
    ] = None,
    schema: Annotated[
        bool,
        typer.Option("--schema", help="Print the card's JSON schema.", envvar="INFRANOISE_SCHEMA"),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write infra-card.md and infra-card.json into this folder.",
            envvar="INFRANOISE_OUT",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """The infra card: what must be published so that others can compare.

    \b
    infranoise card infranoise-runs/headroom --out .
    infranoise card --check infra-card.json
    infranoise card --diff mine/infra-card.json jobs/2026-11-20__12-00-00
    """
    from . import card as cards

    asked = [source is not None, check is not None, diff is not None, schema]
    if sum(asked) != 1:
        raise typer.BadParameter("name results, or use one of --check, --diff, --schema")
    if schema:
        raise typer.Exit(cards.print_schema())
    if check is not None:
        raise typer.Exit(cards.check_card(check, as_json=json))
    if diff is not None:
        raise typer.Exit(cards.diff_cards(*diff, as_json=json))
    raise typer.Exit(cards.write_card(source or "", out=out, as_json=json))


def export(
    source: Annotated[str, typer.Argument(help="A run's folder, a ledger, or others' results.")],
    path: Annotated[Path, typer.Argument(help="The file to write; a folder for HiBayES.")],
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="parquet, csv, jsonl or hibayes. \\[default: by the file's name]",
            envvar="INFRANOISE_FORMAT",
            show_default=False,
        ),
    ] = None,
    accepted: Annotated[
        bool,
        typer.Option(
            "--accepted",
            help="Only attempts whose outcome is their trial's.",
            envvar="INFRANOISE_ACCEPTED",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Attempts as Parquet, CSV, JSON lines, or as HiBayES loads them.

    \b
    infranoise export infranoise-runs/headroom trials.parquet
    infranoise export store.sqlite#board@claude-4 claude.jsonl --accepted
    infranoise export infranoise-runs/headroom hibayes --format hibayes
    """
    from .export import export_results

    raise typer.Exit(export_results(source, path, form, accepted=accepted, as_json=json))
