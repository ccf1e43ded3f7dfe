"""infranoise: how much of an agentic coding eval's score is infrastructure?"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .analysis.api import analyze

__version__ = "0.1.0"
__all__ = ["__version__", "analyze"]


def __getattr__(name: str) -> object:
    """`analyze` is imported when it is first asked for: a node has no numpy."""
    if name == "analyze":
        from .analysis.api import analyze

        return analyze
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
