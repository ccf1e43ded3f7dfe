"""What the facts of a foreign attempt's ending mean, without judging equal endings again."""

from functools import lru_cache

from ..classify import classify
from ..evidence import Evidence
from ..foreign import Facts
from ..outcome import Outcome
from .attempts import judgement
from .bulk import Row
from .foreign_json import as_json


def judged_facts(evidence: Facts) -> tuple[Outcome, Row]:
    """The outcome of the facts of an `Evidence`, and the same as values of `JUDGED`.

    It is what `classify` says of it. Attempts that end alike differ in how long their phases took,
    for which the rules ask in two cases only; most of an import is judged by what was judged
    before.

    Raises:
        pydantic.ValidationError: the facts are none of an `Evidence`.

    >>> judged_facts({"node_seen": "no"})[0].cause
    'node_lost'
    """
    phases = evidence.get("phases")
    if phases and "api" not in evidence:
        evidence = {**evidence, "phases": [_without_its_time(phase) for phase in phases]}
    return _judged(as_json(evidence))


def _without_its_time(phase: Facts) -> Facts:
    """A phase without its duration, unless it is a verifier's timeout, whose words hold it."""
    late = phase.get("timed_out") and phase["name"] == "verifier"
    return phase if late else {**phase, "wall_s": None}


@lru_cache(maxsize=4096)
def _judged(evidence: str) -> tuple[Outcome, Row]:
    outcome = classify(Evidence.model_validate_json(evidence))
    return outcome, judgement(outcome)
