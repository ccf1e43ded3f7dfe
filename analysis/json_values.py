"""Values of ours as plain JSON values: names kept, intervals as [lo, hi], no NaN."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
from pydantic import BaseModel

type Json = dict[str, Json] | list[Json] | str | int | float | bool | None


def json_value(value: Any) -> Json:
    """A value as `json.dumps(..., allow_nan=False)` takes it.

    Dataclasses, mappings and named tuples with an estimate become objects, an `Interval` the list
    [lo, hi], arrays and other sequences lists. A number that is not finite becomes null.

    Raises:
        TypeError: a type that has no form here.

    >>> from .intervals import Interval, Rate
    >>> json_value({"rate": Rate(0.5, 0.2, 0.8), "ci": Interval(0.2, float("nan"))})
    {'rate': {'est': 0.5, 'lo': 0.2, 'hi': 0.8}, 'ci': [0.2, None]}
    """
    match value:
        case None | bool() | int():
            return value
        case Enum():
            return json_value(value.value)
        case str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case np.generic() | np.ndarray():
            return json_value(value.tolist())
        case BaseModel():
            return json_value(value.model_dump(mode="json"))
        case Mapping():
            return {str(key): json_value(item) for key, item in value.items()}
        case tuple() if "est" in getattr(value, "_fields", ()):
            return json_value(value._asdict())  # type: ignore[attr-defined]
        case list() | tuple() | frozenset() | set():
            return [json_value(item) for item in value]
        case _ if is_dataclass(value):
            return {f.name: json_value(getattr(value, f.name)) for f in fields(value)}
    raise TypeError(f"{type(value).__name__} has no form in JSON")
