"""A fact that a source may not be able to tell."""

from typing import Literal

Tri = Literal["yes", "no", "unknown"]
