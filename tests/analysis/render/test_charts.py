"""Charts where there is little room: no name of a band is cut off or runs into the next."""

import re
from typing import Any

import altair as alt
import pytest
import vl_convert

from infranoise.analysis.render.charts import heat_chart, rate_chart

BANDS = ("1x", "1.5x", "2x", "3x", "5x", "uncapped")
RATES = [{"band": b, "rate": 1.0, "lo": 0.0, "hi": 2.0, "infra_errors": 1, "n": 9} for b in BANDS]
TILES = [
    {"task": "a-task", "band": band, "score": 1.0, "label": "1/1", "passed": 1, "n": 1}
    for band in BANDS
]
CHARTS = {"rates": rate_chart(RATES, BANDS), "tiles": heat_chart(TILES, BANDS, ["a-task"])}


@pytest.mark.parametrize("chart", CHARTS)
def test_a_chart_is_valid_vega_lite(chart: str) -> None:
    alt.Chart.from_dict(CHARTS[chart])


def drawn(chart: str, width: int) -> str:
    spec: dict[str, Any] = {**CHARTS[chart], "width": width}
    return str(vl_convert.vegalite_to_svg(spec))


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize(("width", "slanted"), [(300, True), (660, False)])
def test_names_of_bands_slant_where_there_is_no_room(chart: str, width: int, slanted: bool) -> None:
    texts = re.findall(r'<text[^>]*transform="([^"]*)"[^>]*>([^<]*)</text>', drawn(chart, width))
    names = {name: "rotate(-40" in at for at, name in texts if name in BANDS}
    assert names == dict.fromkeys(BANDS, slanted)
