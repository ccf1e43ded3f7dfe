"""The report as one self-contained page: nothing is loaded, and everything from outside is escaped.

Charts are drawn twice: as stills that need no JavaScript, and live with tooltips where it runs. The
page's own policy forbids every request and every script but the one that is meant.
"""

import base64
import hashlib
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ... import __version__
from ..findings import Findings
from ..printable import one_line, printable
from ..run_facts import RunFacts
from ..sources_alike import alike
from ..words import counted, listed
from .chapter import Figure
from .chapters import chapters
from .library import library, vl_convert
from .unrecorded import unrecorded_lines


def page(found: Findings, run: RunFacts | None = None, title: str = "") -> str:
    """The report as HTML; its title is the experiment's name unless given.

    Raises:
        InfranoiseError: the part that draws charts is not installed.
    """
    script = library() + _asset("report.js")
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            title=title or (run.experiment.name if run else "Findings"),
            version=__version__,
            facts=_facts(found, run),
            attempts=run is not None,
            unrecorded=unrecorded_lines(alike(run.sources)) if run else (),
            opening=found.opening,
            chapters=chapters(found, run),
            still=_still,
            style=Markup(_asset("report.css")),  # ours, not from outside
            script=Markup(script),
            policy=_policy(script),
        )
    )


def _facts(found: Findings, run: RunFacts | None) -> list[str]:
    tasks = len({tile.task for tile in found.heat_map})
    entries = [one_line(curve.entry, 40) for curve in found.entries]
    kind = "policy" if found.policies and len(found.policies) == len(entries) else "entry"
    plural = {"policy": "policies", "entry": "entries"}[kind]
    shown = f": {listed(entries)}" if len(entries) <= 4 else ""
    facts = [
        counted(sum(row.n for row in found.bands), "trial"),
        counted(tasks, "task"),
        counted(len(entries), kind, plural) + shown,
        counted(len(found.bands), "band"),
    ]
    if run and run.sources:
        facts.append(f"imported from {listed(sorted({source.kind for source in run.sources}))}")
    elif run:
        facts.append(f"{run.experiment.pods.runtime} pods")
    return facts


def _still(figure: Figure) -> Markup:
    """The chart as SVG; every text in it was escaped by its drawer."""
    spec = {**figure.spec, "width": figure.width}
    svg = vl_convert().vegalite_to_svg(spec, allowed_base_urls=[])
    return Markup(svg)


def _policy(script: str) -> str:
    """Nothing may be loaded, and no script may run but this one."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'"


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader(__package__, "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalised,
        keep_trailing_newline=True,
    )


def _finalised(value: object) -> object:
    """Text from outside cannot steer the page; a number and its per cent sign stay on one line."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value).replace(" %", "\N{NO-BREAK SPACE}%")
    return value


@cache
def _asset(name: str) -> str:
    source, _, _ = _environment().loader.get_source(_environment(), name)  # type: ignore[union-attr]
    return source
