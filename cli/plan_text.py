"""A plan as a reader sees it in the terminal."""

from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.table import Table

from ..analysis.words import counted
from .summary import Contrast, Money, Summary


def show_plan(console: Console, summary: Summary) -> None:
    """Print a plan: what runs, how long, what it could show, and what it could not."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in _lines(summary):
        table.add_row(name, value)
    console.print(f"[bold]{summary.experiment}[/bold] on {summary.runtime} pods")
    console.print(table)
    if summary.contrasts:
        console.print()
        console.print(_prospects(summary))
    for left in summary.left_out:
        text = f"cannot run: {left['task']}: {left['why']}"
        console.print(text, style="red", markup=False, highlight=False)
    if summary.left_out:
        console.print("`run` stops at these; with --leave-out it does what is planned above")


def _lines(summary: Summary) -> Iterator[tuple[str, str]]:
    yield (
        "matrix",
        f"{counted(summary.tasks, 'task')} x {counted(len(summary.entries), 'entry', 'entries')} "
        f"x {counted(len(summary.bands), 'band')} x {counted(summary.samples, 'sample')}",
    )
    yield "entries", ", ".join(summary.entries)
    bands = ", ".join(summary.bands)
    yield "bands", f"{bands} (lifts are measured against {summary.reference})"
    for name, levels in summary.factors.items():
        yield name, ", ".join(levels)
    if summary.network != "public":
        yield "network", _network(summary)
    yield (
        "trials",
        f"{summary.trials:,} in {counted(summary.cells, 'cell')} and "
        f"{counted(summary.waves, 'wave')}",
    )
    yield "time", _time(summary)
    if summary.money is not None:
        yield "models", ", ".join(_model(one) for one in summary.money.models)
        yield "cost", _cost(summary.money)
    yield "noise", _noise(summary)
    for factor in summary.wave_factors:
        yield factor.factor, f"{factor.reason} ({factor.waves} waves of {factor.levels} levels)"
    yield "design", _design(summary)


def _network(summary: Summary) -> str:
    if summary.network != "gateway":
        return {"internal": "this node and nowhere else", "none": "none"}[summary.network]
    gateway = "the gateway" if summary.money is not None else ""
    reached = [name for name in (gateway, *summary.allow) if name]
    return f"{', '.join(reached) or 'nothing'} and nowhere else; every host is counted"


def _model(one: Mapping[str, object]) -> str:
    expected = one["expected_usd"]
    told = "" if expected is None else f", about {expected:,.2f} USD by {one['source']}"
    return f"{one['model']} ({one['provider']}): {one['trials']:,} trials{told}"


def _cost(money: Money) -> str:
    parts = []
    if money.expected_usd is not None:
        parts.append(f"about {money.expected_usd:,.2f} USD")
    if money.most_usd is not None:
        parts.append(f"at most {money.most_usd:,.2f} USD by limits.usd")
    if money.budget_usd is not None:
        parts.append(f"stops before {money.budget_usd:,.2f} USD are exceeded")
    if money.expected_usd is None:
        parts.append(
            "not estimated: give each model price and expected = { input = …, output = … }, "
            "or run a few samples first"
        )
    return "; ".join(parts)


def _noise(summary: Summary) -> str:
    noise = summary.noise
    if noise.source == "assumed":
        return (
            f"within-task variance {noise.within:g} assumed; measure it with --power-from RESULTS"
        )
    parts = [f"within-task variance {noise.within:.3f}"]
    parts += [f"{name} effects vary by task with SD {100 * tau2**0.5:.1f} points"
              for name, tau2 in noise.tau2.items()]  # fmt: skip
    if noise.shock_points is not None:
        parts.append(f"waves share shocks of {noise.shock_points:.1f} points")
    parts += [f"not told for {name}: {why}" for name, why in noise.missing.items()]
    return f"measured in {noise.source}: {'; '.join(parts)}"


def _design(summary: Summary) -> str:
    design = summary.design
    if design is None:
        return "nothing varies within a task: no effect to estimate"
    inflated = [f"{name} x{g:.2f}" for name, g in design.gvif.items() if g is not None and g > 1.01]
    parts = [
        f"aliased: {', '.join(design.aliased)}" if design.aliased else "nothing is aliased",
        f"every factor varies in {100 * design.overlap:.0f} % of tasks and entries",
    ]
    if inflated:
        parts.append(f"intervals widened by confounding: {', '.join(inflated)}")
    return "; ".join(parts)


def _prospects(summary: Summary) -> Table:
    table = Table(title="What this plan can show, in points (80 % power, 5 % level)", box=None)
    table.add_column("contrast", no_wrap=True)
    for heading in ("detects, same tasks", "detects, new tasks", "proves equal within"):
        table.add_column(heading, justify="right")
    margin = summary.contrasts[0].margin_points
    table.add_column(f"samples to prove {margin:g}", justify="right")
    for label, contrast in _grouped(summary.contrasts):
        if contrast.testable:
            cells = [
                _points(contrast.detectable_points),
                _points(contrast.detectable_new_points),
                _points(contrast.provable_points),
            ]
        else:
            cells = ["not testable", "", ""]
        table.add_row(label, *cells, f"{contrast.samples_needed:,}")
    return table


def _grouped(contrasts: list[Contrast]) -> Iterator[tuple[str, Contrast]]:
    """One line for contrasts of a factor that have the same numbers."""
    groups: dict[tuple[object, ...], list[Contrast]] = {}
    for one in contrasts:
        numbers = (one.detectable_points, one.detectable_new_points, one.samples_needed)
        groups.setdefault((one.factor, *numbers), []).append(one)
    for members in groups.values():
        first = members[0]
        if len(members) == 1:
            yield f"{first.factor}: {first.level} against {first.vs}", first
        elif first.factor == "entry":
            yield f"entry: any of {len(members)} pairs", first
        else:
            yield f"{first.factor}: any of {len(members)} levels against {first.vs}", first


def _points(value: float | None) -> str:
    return "?" if value is None else f"{value:.1f}"


def _time(summary: Summary) -> str:
    longest = f"at most {_hours(summary.longest_s)} by the tasks' time limits"
    if summary.expected_s is None:
        return f"{longest}, {summary.slots} at once; nothing was measured here yet"
    return f"about {_hours(summary.expected_s)} as measured here before, {longest}"


def _hours(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
