"""Charts as Vega-Lite, drawn with Altair; colours are CSS variables, so that one drawing fits light
and dark pages."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import altair as alt

type Spec = dict[str, Any]
type Rows = Sequence[Mapping[str, Any]]

INK, MUTED, LINE, ACCENT, BAD = (
    f"var(--{name})" for name in ("ink", "muted", "line", "accent", "bad")
)
SERIES = tuple(f"var(--c{k})" for k in range(1, 9))
HEAT = tuple(f"var(--h{k})" for k in range(6))
HEAT_STEPS = (0.001, 0.25, 0.5, 0.75, 0.999)
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
HEIGHT, ROW = 250, 26
MOST_NAMES = 16  # of bands; beyond it some are left out of an axis
GLYPH, GAP = 7.5, 8.0  # pixels of a letter on an axis, and between two names
BESIDE = 70.0  # pixels that an axis of numbers takes
DASHES = ([1, 0], [9, 5], [3, 4], [9, 4, 2, 4])


def score_chart(rows: Rows, order: Sequence[str]) -> Spec:
    """Score by band: strict with both intervals, without infra errors, and the bounds.

    Args:
        rows: band, n; in percent strict, excluded, lo and hi (the bounds), same_lo, same_hi,
            new_lo, new_hi; and in words same, new.
        order: names of the bands, tightest first.
    """
    base = alt.Chart(data(rows)).encode(x=bands_axis(order))
    tooltip = [
        alt.Tooltip("band:N", title="band"),
        alt.Tooltip("strict:Q", title="score %", format=".1f"),
        alt.Tooltip("excluded:Q", title="without infra errors %", format=".1f"),
        alt.Tooltip("same:N", title="95 % on the same tasks"),
        alt.Tooltip("new:N", title="95 % on new tasks"),
        alt.Tooltip("n:Q", title="trials"),
    ]
    layers = [
        base.mark_area(color=ACCENT, opacity=0.12).encode(y=_percent("lo", "score, %"), y2="hi:Q"),
        base.mark_rule(color=ACCENT, strokeWidth=1.25, opacity=0.7).encode(
            y="new_lo:Q", y2="new_hi:Q"
        ),
        base.mark_rule(color=ACCENT, strokeWidth=4, opacity=0.55).encode(
            y="same_lo:Q", y2="same_hi:Q"
        ),
        base.mark_line(color=MUTED, strokeDash=[4, 4], strokeWidth=1.5).encode(y="excluded:Q"),
        base.mark_line(color=ACCENT, strokeWidth=2.5).encode(y="strict:Q"),
        base.mark_point(color=ACCENT, filled=True, size=70, opacity=1).encode(
            y="strict:Q", tooltip=tooltip
        ),
    ]
    return finished(alt.layer(*layers).properties(height=HEIGHT))


def rate_chart(rows: Rows, order: Sequence[str]) -> Spec:
    """Infra error rate by band with its Wilson interval.

    Args:
        rows: band, rate, lo, hi in percent; infra_errors, n.
    """
    base = alt.Chart(data(rows)).encode(x=bands_axis(order))
    tooltip = [
        alt.Tooltip("band:N", title="band"),
        alt.Tooltip("rate:Q", title="infra errors %", format=".1f"),
        alt.Tooltip("infra_errors:Q", title="infra errors"),
        alt.Tooltip("n:Q", title="trials"),
    ]
    layers = [
        base.mark_rule(color=BAD, strokeWidth=4, opacity=0.45).encode(
            y=_percent("lo", "infra errors, %"), y2="hi:Q"
        ),
        base.mark_line(color=BAD, strokeWidth=2.5).encode(y="rate:Q"),
        base.mark_point(color=BAD, filled=True, size=70, opacity=1).encode(
            y="rate:Q", tooltip=tooltip
        ),
    ]
    return finished(alt.layer(*layers).properties(height=HEIGHT))


def entries_chart(rows: Rows, order: Sequence[str], entries: Sequence[str]) -> Spec:
    """Strict score by band, one line per entry.

    Args:
        rows: band, entry, score in percent, n.
    """
    colour = alt.Color(
        "entry:N",
        sort=list(entries),
        scale=alt.Scale(domain=list(entries), range=_colours(len(entries))),
        legend=alt.Legend(title=None, orient="bottom", columns=4, labelLimit=260),
    )
    base = alt.Chart(data(rows)).encode(
        x=bands_axis(order),
        y=_percent("score", "score, %"),
        color=colour,
        tooltip=[
            alt.Tooltip("entry:N", title="entry"),
            alt.Tooltip("band:N", title="band"),
            alt.Tooltip("score:Q", title="score %", format=".1f"),
            alt.Tooltip("n:Q", title="trials"),
        ],
    )
    dashes = alt.Scale(domain=list(entries), range=[DASHES[k % 4] for k in range(len(entries))])
    # Lines that run over each other stay apart by their dashes.
    lines = base.mark_line(strokeWidth=2.25).encode(
        strokeDash=alt.StrokeDash("entry:N", scale=dashes, sort=list(entries), legend=None)
    )
    marks = base.mark_point(filled=True, size=55, opacity=1)
    return finished(alt.layer(lines, marks).properties(height=HEIGHT))


def causes_chart(rows: Rows, order: Sequence[str], words: Sequence[str]) -> Spec:
    """Infra errors stacked by cause, as a share of the band's trials.

    Args:
        rows: band, cause (as shown), share in percent, count, place (of the cause in the stack).
        words: the causes that occur, in order.
    """
    chart = (
        alt.Chart(data(rows))
        .mark_bar(cornerRadiusEnd=2, size=34)
        .encode(
            x=bands_axis(order),
            y=_percent("share", "of the band's trials, %", stack="zero"),
            color=alt.Color(
                "cause:N",
                sort=list(words),
                scale=alt.Scale(domain=list(words), range=_colours(len(words))),
                legend=alt.Legend(title=None, orient="bottom", columns=3, labelLimit=260),
            ),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("band:N", title="band"),
                alt.Tooltip("cause:N", title="cause"),
                alt.Tooltip("count:Q", title="trials"),
                alt.Tooltip("share:Q", title="of trials %", format=".1f"),
            ],
        )
    )
    return finished(chart.properties(height=HEIGHT))


def heat_chart(rows: Rows, order: Sequence[str], tasks: Sequence[str]) -> Spec:
    """Task by band: the share that passed, with the count written in.

    Args:
        rows: task, band, score in 0..1, label, passed, infra_errors, n.
    """
    steps = alt.Scale(type="threshold", domain=list(HEAT_STEPS), range=list(HEAT))
    base = alt.Chart(data(rows)).encode(
        x=bands_axis(order, beside_px=24 + GLYPH * max(map(len, tasks), default=0), orient="top"),
        y=alt.Y("task:N", sort=list(tasks), title=None, axis=alt.Axis(labelLimit=220, grid=False)),
        tooltip=[
            alt.Tooltip("task:N", title="task"),
            alt.Tooltip("band:N", title="band"),
            alt.Tooltip("passed:Q", title="passed"),
            alt.Tooltip("infra_errors:Q", title="infra errors"),
            alt.Tooltip("n:Q", title="trials"),
        ],
    )
    tiles = base.mark_rect(stroke="var(--paper)", strokeWidth=2, cornerRadius=3).encode(
        color=alt.Color("score:Q", scale=steps, legend=None)
    )
    words = base.mark_text(fontSize=11).encode(
        text="label:N",
        color=alt.condition("datum.score >= 0.75", alt.value("var(--on-heat)"), alt.value(INK)),
    )
    return finished(alt.layer(tiles, words).properties(height=ROW * max(len(tasks), 1)))


def finished(chart: Any) -> Spec:
    """A chart as wide as its place, in the look of the page.

    It is not held against Vega-Lite's schema here, which takes longer than drawing it: tests do so.
    """
    fitted = alt.AutoSizeParams(type="fit-x", contains="padding")
    whole = chart.properties(width="container", autosize=fitted).configure(**THEME)
    return dict(whole.to_dict(validate=False))


def data(rows: Rows) -> alt.InlineData:
    """Rows as the data of a chart."""
    return alt.InlineData(values=[dict(row) for row in rows])


def bands_axis(order: Sequence[str], beside_px: float = BESIDE, **axis: Any) -> alt.X:
    """Bands side by side in their order; their names slant where the chart is too narrow.

    Args:
        beside_px: what the other axis takes of the width, in pixels.
    """
    above = axis.get("orient") == "top"
    least_px = _room_px(order) + beside_px
    look = alt.Axis(
        labelAngle=_if_narrow(least_px, -40, 0),
        labelAlign=_if_narrow(least_px, "left" if above else "right", "center"),
        labelBaseline=_if_narrow(least_px, "middle", "bottom" if above else "top"),
        labelLimit=150,
        labelOverlap=len(order) > MOST_NAMES,
        grid=False,
        **axis,
    )
    scale = alt.Scale(domain=list(order))  # bands without a mark keep their place
    return alt.X("band:O", scale=scale, title=None, axis=look)


def _if_narrow(least_px: float, narrow: str | int, wide: str | int) -> alt.ExprRef:
    """What is decided where the chart is drawn, by the room that it has there."""
    room = "(isFinite(containerSize()[0]) ? containerSize()[0] : width)"
    return alt.ExprRef(f"{room} < {least_px:.0f} ? {narrow!r} : {wide!r}")


def _room_px(names: Sequence[str]) -> float:
    """How wide a chart must be for names of equal steps to lie side by side."""
    pairs = pairwise(names)
    step = max((GLYPH * (len(a) + len(b)) / 2 + GAP for a, b in pairs), default=0.0)
    return step * len(names)


def _percent(field: str, title: str, **more: Any) -> alt.Y:
    return alt.Y(f"{field}:Q", title=title, scale=alt.Scale(zero=True, nice=True), **more)


def _colours(count: int) -> list[str]:
    """Colours of the first series; beyond those all are muted, told apart by their tooltips."""
    return [SERIES[k] if k < len(SERIES) else MUTED for k in range(count)]


THEME: dict[str, Any] = {
    "background": "transparent",
    "font": FONT,
    "padding": {"left": 4, "top": 4, "bottom": 4, "right": 20},
    "view": {"stroke": None},
    "axis": {
        "labelColor": MUTED,
        "titleColor": MUTED,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "domainColor": LINE,
        "tickColor": LINE,
        "gridColor": LINE,
        "labelPadding": 6,
        "titlePadding": 10,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": MUTED,
        "labelFontSize": 12,
        "symbolStrokeWidth": 2.5,
    },
}
