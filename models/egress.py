"""Egress: how fast a pod's link is meant to be, in both directions."""

from typing import Annotated, Literal

from pydantic import Field

from .trial import TrialKey

FACTOR = "egress_mbps"
type Egress = Literal["unlimited"] | Annotated[float, Field(ge=0.1, le=100_000)]
"""Megabits (10^6) per second; "unlimited": as fast as the link is."""


def egress_text(egress: Egress) -> str:
    """A level of the factor as keys write it.

    >>> egress_text(10.0), egress_text("unlimited")
    ('10', 'unlimited')
    """
    return egress if isinstance(egress, str) else f"{egress:g}"


def egress_level(key: TrialKey) -> Egress | None:
    """The level of the factor at which a trial runs; None where egress is no factor."""
    text = dict(key.cell.levels).get(FACTOR)
    if text is None:
        return None
    return "unlimited" if text == "unlimited" else float(text)
