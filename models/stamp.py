"""A stamp: what a node writes beside an attempt that another harness runs on it."""

from typing import Literal

from .load import Load
from .node import NodeProfile
from .value import Value

STAMP_FILE = "infranoise.json"
"""The name of a stamp in the folder of the attempt that it belongs to."""


class Stamp(Value):
    """The node and its load around one attempt; `co_running` counts the job's other attempts.

    The file is JSON of this shape. What was not yet known when it was written is None.
    """

    version: Literal[1] = 1
    node: str
    profile: NodeProfile
    slots: int | None = None
    co_running_start: int | None = None
    co_running_peak: int | None = None
    co_running_end: int | None = None
    load_start: Load | None = None
    load_end: Load | None = None
