"""`compare`: is one set of results better than another, is it real, is it fit to replace it?"""

import json
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from rich.console import Console

from ..analysis.comparison import Comparison, compare
from ..analysis.comparison_words import verdict_sentence
from ..analysis.gate import Limit, Missing
from ..analysis.json_values import Json, json_value
from ..analysis.render.comparison_text import comparison_text
from ..analysis.sources_alike import alike
from ..models.errors import DesignError
from ..models.source import Source
from .noise import distinct_sources, noise_of
from .sides import sides_of

POINTS = 100.0
FORMAT = "infranoise.comparison/1"
EXIT = {"GO": 0, "NO-GO": 4, "INCONCLUSIVE": 5}


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked; see the command. Points are percentage points."""

    a: str
    b: str
    store: str | None = None
    gate: bool = False
    max_drop_points: float = 0.0
    target: str = "same"
    common_tasks: bool = False
    infra_errors: str = "unknown"
    matched: bool = False
    noise_from: str | None = None
    margin_points: float = 3.0


def compare_results(question: Question, *, as_json: bool) -> int:
    """Compare, print; returns the exit code: 0, or the gate's."""
    (a, first), (b, second) = sides_of((question.a, question.b), question.store)
    found = compare(
        a,
        b,
        noise=noise_of(question.noise_from, (first, second)),
        matched=True if question.matched else None,
        margin=question.margin_points / POINTS,
        limit=_limit(question),
    )
    each = (alike(distinct_sources([side])) for side in (a, b))
    sources = tuple(dict.fromkeys(chain.from_iterable(each)))
    if as_json:
        print(json.dumps(_document(found, sources), indent=1, allow_nan=False))
    else:
        Console().print(comparison_text(found, sources))
    return 0 if found.gate is None else EXIT[found.gate.decision]


def _limit(question: Question) -> Limit | None:
    if not question.gate:
        return None
    if question.target not in ("same", "new"):
        raise DesignError(f"--target {question.target!r}: say same or new (tasks)")
    target: Literal["same", "new"] = "new" if question.target == "new" else "same"
    if question.infra_errors not in ("unknown", "failed"):
        raise DesignError(f"--infra-errors {question.infra_errors!r}: say unknown or failed")
    missing: Missing = "failed" if question.infra_errors == "failed" else "unknown"
    return Limit(question.max_drop_points / POINTS, target, question.common_tasks, missing)


def _document(found: Comparison, sources: tuple[Source, ...]) -> dict[str, Json]:
    plain = json_value(found)
    assert isinstance(plain, dict)
    unrecorded = json_value([{"path": s.path, "unrecorded": s.unrecorded} for s in sources])
    return {
        "format": FORMAT,
        "unrecorded": unrecorded,
        "sentence": verdict_sentence(found),
        **plain,
    }
