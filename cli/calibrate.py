"""`calibrate`: the floor and ceiling to pin, with the evidence, as TOML that `run` accepts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ..analysis.api import is_table, question
from ..analysis.calibrate import Calibration, calibrate
from ..analysis.json_values import json_value
from ..analysis.pin import ascending, pin_toml, pinned
from ..analysis.render.pin_text import pin_text, refusal
from ..models.band import Band
from ..models.errors import DesignError
from ..models.source import Source
from .sides import address_of, study_of

POINTS = 100.0
FORMAT = "infranoise.calibration/1"
NOT_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Rule:
    """What a ceiling must show; see the command."""

    margin_points: float = 3.0
    rho: float = 0.5
    target: str = "same"
    floor: str | None = None


def calibrate_results(source: str, rule: Rule, *, columns: Sequence[str], as_json: bool) -> int:
    """Print the band to pin; returns the exit code: 0, or 5 where none is shown to qualify."""
    found, bands, sources = _calibrated(source, rule, columns)
    band = pinned(found, bands)
    toml = None if band is None else pin_toml(found, band)
    if as_json:
        plain = json_value(found)
        assert isinstance(plain, dict)
        told = json_value([{"path": s.path, "unrecorded": s.unrecorded} for s in sources])
        more = {"band": json_value(band), "toml": toml, "refused": "" if toml else refusal(found)}
        print(json.dumps({"format": FORMAT, **plain, **more, "unrecorded": told}, indent=1))
    else:
        Console().print(pin_text(found, toml, sources))
    return 0 if toml else NOT_SHOWN


def _calibrated(
    source: str, rule: Rule, columns: Sequence[str]
) -> tuple[Calibration, tuple[Band, ...], tuple[Source, ...]]:
    if rule.target not in ("same", "new"):
        raise DesignError(f"--target {rule.target!r}: say same or new (tasks)")
    if is_table(source):
        cells, _ = question(Path(source), ",".join(columns) or None)
        bands: tuple[Band, ...] = ()
        sources: tuple[Source, ...] = ()
    else:
        study = study_of(address_of(source))
        cells, bands, sources = study.cells, study.experiment.bands, study.sources
    found = calibrate(
        ascending(cells, bands),
        margin=rule.margin_points / POINTS,
        rho=rule.rho,
        floor=rule.floor,
        target="new" if rule.target == "new" else "same",
    )
    return found, bands, sources
