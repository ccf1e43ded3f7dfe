"""A calibration in a terminal: every ceiling, and the band to pin."""

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...models.source import Source
from ..calibrate import Calibration, Ceiling
from ..printable import one_line, printable
from ..sources_alike import alike
from ..words import counted, percent, points
from .unrecorded import unrecorded_text

HEADINGS = ("ceiling", "infra %", "lift", "errors cut, p", "equal, p", "equal within", "shown")
DASH = "-"


def pin_text(
    found: Calibration, toml: str | None, sources: tuple[Source, ...] = ()
) -> RenderableType:
    """The evidence per ceiling, then the TOML, or what stands in the way of one."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in HEADINGS:
        words = name in ("ceiling", "shown")
        table.add_column(name, justify="left" if words else "right")
    for ceiling in found.per_ceiling:
        table.add_row(*_row(ceiling))
    parts: list[RenderableType] = [
        *([unrecorded_text(alike(sources))] if sources else []),
        Group(Text(printable(f"Looking for the {found.rule}"), style="bold"), table),
    ]
    ways = [f"{c.band}: {c.obstacle}" for c in found.per_ceiling if c.obstacle]
    if ways:
        parts.append(Text(printable("\n".join(("In the way:", *ways)))))
    parts.append(Text(toml) if toml else Text(printable(refusal(found)), style="bold yellow"))
    return Group(*(Padding(part, (0, 0, 1, 0)) for part in parts))


def refusal(found: Calibration) -> str:
    """Why no band is pinned."""
    if found.chosen is not None:
        return (
            f"{found.chosen} qualifies, but nobody stated what floors and ceilings it stands for; "
            "import it with --band 3x, or the like"
        )
    nearest = [c for c in found.per_ceiling if c.needed_trials]
    if not nearest:
        return "No ceiling is shown to qualify, and more trials alone would not change that."
    best = min(nearest, key=lambda ceiling: ceiling.needed_trials or 0)
    more = counted(best.needed_trials or 0, "more trial")
    return (
        f"No ceiling is shown to qualify yet: {best.band} needs {more}, and as many at the floor."
    )


def _row(ceiling: Ceiling) -> list[str | Text]:
    margin = ceiling.smallest_margin
    shown = [word for word, up in (("errors cut", ceiling.cuts_errors),
                                   ("equal", ceiling.equivalent)) if up]  # fmt: skip
    return [
        Text(one_line(ceiling.band, 40)),
        percent(ceiling.infra_rate),
        points(ceiling.lift),
        DASH if ceiling.cuts_errors_p is None else f"{ceiling.cuts_errors_p:.2g}",
        DASH if ceiling.equivalent_p is None else f"{ceiling.equivalent_p:.2g}",
        DASH if margin is None else points(margin, signed=False),
        ", ".join(shown) or DASH,
    ]
