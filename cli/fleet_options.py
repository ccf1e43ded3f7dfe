"""Options that the commands of a fleet share."""

from pathlib import Path
from typing import Annotated

import typer

Store = Annotated[
    str,
    typer.Option(
        "--store",
        help="The ledger: postgresql://…, or a SQLite file.",
        envvar="INFRANOISE_STORE",
    ),
]
Broker = Annotated[
    str,
    typer.Option(
        "--broker",
        help="The queue server: redis://… or rediss://… (Redis or Valkey).",
        envvar="INFRANOISE_BROKER_URL",
    ),
]
MaybeBroker = Annotated[
    str | None,
    typer.Option(
        "--broker",
        help="The queue server; without it nodes are not shown.",
        envvar="INFRANOISE_BROKER_URL",
        show_default=False,
    ),
]
Blobs = Annotated[
    str | None,
    typer.Option(
        "--blobs",
        help="Where packed tasks and logs lie for all: a shared directory, s3://bucket/…. "
        "\\[default: beside a SQLite store]",
        envvar="INFRANOISE_BLOBS",
        show_default=False,
    ),
]
AliveFile = Annotated[
    Path | None,
    typer.Option(
        "--alive",
        help="Touch this file while all is well, for a health check that looks at its age.",
        envvar="INFRANOISE_ALIVE",
        show_default=False,
    ),
]
Flower = Annotated[
    str | None,
    typer.Option(
        "--flower",
        help="Where the fleet's Flower is shown.",
        envvar="INFRANOISE_FLOWER_URL",
        show_default=False,
    ),
]
JsonLines = Annotated[
    bool,
    typer.Option("--json", help="Log one JSON document a line.", envvar="INFRANOISE_JSON"),
]
Name = Annotated[str, typer.Argument(help="The experiment's name.", show_default=False)]
