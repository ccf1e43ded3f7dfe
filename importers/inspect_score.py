"""Scores of Inspect as rewards.

Source: Inspect 0.3.285, `inspect_ai.scorer.value_to_float`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..models.errors import SourceFault
from .ending import checked_reward
from .fields import part

GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
YES_NO = {"yes": 1.0, "true": 1.0, "correct": 1.0, "no": 0.0, "false": 0.0, "incorrect": 0.0}


def reward_of(
    path: Path, place: str, scores: Mapping[str, Any], scorer: str, most: float
) -> float | None:
    """The reward of a sample; None where the scorer left none.

    Args:
        scorer: a scorer's name, `name/key` for one value of several.
    Raises:
        SourceFault: the score is no grade and no number in 0..`most`.

    >>> reward_of(Path("a.eval"), "s-1", {"includes": {"value": "P"}}, "includes", 1.0)
    0.5
    """
    name, _, key = (scorer, "", "") if scorer in scores else scorer.partition("/")
    if name not in scores:
        return None
    value = part(path, f"{place}, scores.{name}", scores[name]).get("value")
    if isinstance(value, dict):
        if key not in value:
            keys = ", ".join(list(map(str, value))[:8])
            raise SourceFault(
                path, f"{place}, scores.{name}",
                f"holds several values ({keys}); choose one with --reward {name}/KEY",
            )  # fmt: skip
        value = value[key]
    return _number(path, f"{place}, scores.{name}", value, most)


def _number(path: Path, place: str, value: object, most: float) -> float | None:
    if value is None:
        return None
    if isinstance(value, str):
        if value in GRADES:
            return GRADES[value]
        if value.lower() in YES_NO:
            return YES_NO[value.lower()]
        try:
            value = float(value)
        except ValueError:
            raise SourceFault(path, place, f"a score of {value!r:.40} is no grade") from None
    if isinstance(value, float) and value != value:
        return None  # how Inspect writes that a scorer gave up
    return checked_reward(path, place, value, most)
