"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON.", envvar="INFRANOISE_JSON")
]
File = Annotated[
    Path,
    typer.Argument(
        help="An experiment file (TOML), or bundled:headroom.", envvar="INFRANOISE_FILE"
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="The run's folder. \\[default: infranoise-runs/<experiment>]",
        envvar="INFRANOISE_OUT",
        show_default=False,
    ),
]
Slots = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Trials in flight on this machine. \\[default: its cores]",
        envvar="INFRANOISE_SLOTS",
        show_default=False,
    ),
]
Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh",
        help="Start over: keep the old folder aside, begin a new one.",
        envvar="INFRANOISE_FRESH",
    ),
]
LeaveOut = Annotated[
    bool,
    typer.Option(
        "--leave-out",
        help="Run without the tasks that cannot run here, instead of stopping.",
        envvar="INFRANOISE_LEAVE_OUT",
    ),
]
Preflight = Annotated[
    bool,
    typer.Option(
        "--preflight",
        help="First try every task with the no-op and the oracle; what is not fit cannot run.",
        envvar="INFRANOISE_PREFLIGHT",
    ),
]
Runtime = Annotated[
    str | None,
    typer.Option(
        help="process, docker or kubernetes; overrides \\[pods] runtime.",
        envvar="INFRANOISE_RUNTIME",
        show_default=False,
    ),
]
ReplayKills = Annotated[
    str | None,
    typer.Option(
        metavar="CEILING",
        help="Then run every OOM-killed trial again at this ceiling: a band's name, 4x, uncapped.",
        envvar="INFRANOISE_REPLAY_KILLS",
        show_default=False,
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="Stop once every lift is decided: decided, or margin=POINTS of equivalence.",
        envvar="INFRANOISE_UNTIL",
        show_default=False,
    ),
]
Looks = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Decide at so many looks, declared before the run. \\[default: after every round]",
        envvar="INFRANOISE_LOOKS",
        show_default=False,
    ),
]
Arms = Annotated[
    bool,
    typer.Option(
        "--aa",
        help="Run one band as two identical arms: a test of the instrument itself.",
        envvar="INFRANOISE_AA",
    ),
]
ArmsOf = Annotated[
    str | None,
    typer.Option(
        metavar="BAND",
        help="The band that --aa splits. \\[default: the reference]",
        envvar="INFRANOISE_AA_BAND",
        show_default=False,
    ),
]
