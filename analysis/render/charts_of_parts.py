"""Charts of the chapters beyond the bands: factors, noise budget, ceilings, gaps."""

from collections.abc import Sequence

import altair as alt

from .charts import ACCENT, BAD, INK, LINE, MUTED, ROW, Rows, Spec, bands_axis, data, finished


def forest_chart(rows: Rows, labels: Sequence[str]) -> Spec:
    """Effects in points with both intervals, one row per level of a factor.

    Args:
        rows: label, est, same_lo, same_hi, lo, hi (points), role, p in words.
    """
    y = alt.Y("label:N", sort=list(labels), title=None, axis=alt.Axis(labelLimit=240, grid=False))
    base = alt.Chart(data(rows)).encode(y=y)
    zero = alt.Chart(data([{"zero": 0}])).mark_rule(color=MUTED, strokeDash=[4, 4])
    colour = alt.condition("datum.role == 'observed'", alt.value(MUTED), alt.value(ACCENT))
    title = "difference of the score, points"
    layers = [
        zero.encode(x=alt.X("zero:Q", title=title, axis=alt.Axis(tickCount=7))),
        base.mark_rule(strokeWidth=1.25).encode(x="lo:Q", x2="hi:Q", color=colour),
        base.mark_rule(strokeWidth=5, opacity=0.45).encode(
            x="same_lo:Q", x2="same_hi:Q", color=colour
        ),
        base.mark_point(filled=True, size=70, opacity=1).encode(
            x="est:Q",
            color=colour,
            tooltip=[
                alt.Tooltip("label:N", title="level"),
                alt.Tooltip("est:Q", title="points", format="+.1f"),
                alt.Tooltip("role:N", title="the factor was"),
                alt.Tooltip("p:N", title="p"),
            ],
        ),
    ]
    return finished(alt.layer(*layers).properties(height=ROW * max(len(labels), 1)))


def budget_chart(rows: Rows, sources: Sequence[str], of: str = "the score") -> Spec:
    """The SD of a score by source, in points, with the intervals there are.

    Args:
        rows: source, sd, lo, hi (points), share in percent; `observed` mutes a bar.
        of: what it is the deviation of.
    """
    y = alt.Y("source:N", sort=list(sources), title=None, axis=alt.Axis(labelLimit=240, grid=False))
    base = alt.Chart(data(rows)).encode(y=y)
    bars = base.mark_bar(color=ACCENT, cornerRadiusEnd=3, height=14, opacity=0.85).encode(
        x=alt.X(
            "sd:Q",
            title=f"standard deviation of {of}, points",
            axis=alt.Axis(tickCount=6),
        ),
        tooltip=[
            alt.Tooltip("source:N", title="source"),
            alt.Tooltip("sd:Q", title="SD, points", format=".2f"),
            alt.Tooltip("share:Q", title="of the variance, %", format=".0f"),
        ],
    )
    spans = base.mark_rule(color=INK, strokeWidth=1.25).encode(x="lo:Q", x2="hi:Q")
    return finished(alt.layer(bars, spans).properties(height=ROW * max(len(sources), 1)))


def ceiling_chart(rows: Rows, order: Sequence[str], margin: float) -> Spec:
    """The smallest margin of equivalence that is shown at each ceiling, against the one asked for.

    Args:
        rows: band, smallest (points), verdict in words.
        margin: the asked margin, points.
    """
    base = alt.Chart(data(rows)).encode(x=bands_axis(order))
    asked = alt.Chart(data([{"margin": margin}])).encode(y="margin:Q")
    layers = [
        base.mark_bar(color=ACCENT, opacity=0.35, cornerRadiusEnd=3, size=26).encode(
            y=alt.Y("smallest:Q", title="smallest margin shown, points"),
            tooltip=[
                alt.Tooltip("band:N", title="ceiling"),
                alt.Tooltip("smallest:Q", title="shown equal within, points", format=".1f"),
                alt.Tooltip("verdict:N", title="verdict"),
            ],
        ),
        asked.mark_rule(color=BAD, strokeWidth=2, strokeDash=[6, 4]),
    ]
    return finished(alt.layer(*layers).properties(height=220))


def gaps_chart(rows: Rows, entries: Sequence[str]) -> Spec:
    """Entry by entry: the gap in points, shaded by its verdict.

    Args:
        rows: a, b, gap (points), label, verdict, place of the verdict (0 noise .. 2 credible).
    """
    names = list(entries)
    fill = alt.Scale(domain=[0, 1, 2], range=["var(--muted-soft)", "var(--warn-soft)", "var(--h3)"])
    base = alt.Chart(data(rows)).encode(
        x=alt.X(
            "b:N",
            scale=alt.Scale(domain=names),
            title=None,
            axis=alt.Axis(orient="top", labelAngle=-30, labelLimit=140, grid=False),
        ),
        y=alt.Y(
            "a:N",
            scale=alt.Scale(domain=names),
            title=None,
            axis=alt.Axis(labelLimit=220, grid=False),
        ),
        tooltip=[
            alt.Tooltip("a:N", title="entry"),
            alt.Tooltip("b:N", title="less entry"),
            alt.Tooltip("gap:Q", title="points", format="+.1f"),
            alt.Tooltip("verdict:N", title="verdict"),
        ],
    )
    tiles = base.mark_rect(stroke=LINE, cornerRadius=3).encode(
        color=alt.Color("place:O", scale=fill, legend=None)
    )
    words = base.mark_text(fontSize=11, color=INK).encode(text="label:N")
    return finished(alt.layer(tiles, words).properties(height=ROW * max(len(names), 2)))
