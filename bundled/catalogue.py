"""Which benchmarks are bundled, and where their sources lie in the package."""

import difflib
from pathlib import Path

from ..models.errors import DesignError

BENCHMARKS = ("headroom", "edges", "egress")
HERE = Path(__file__).parent
SHARED = HERE / "shared"


def source(benchmark: str) -> Path:
    """The folder with one source folder per task; sources lack their inputs (see `materialise`).

    Raises: DesignError: no such benchmark; names the nearest and all there are.
    """
    if benchmark in BENCHMARKS:
        return HERE / benchmark
    near = difflib.get_close_matches(benchmark, BENCHMARKS, n=1)
    hint = f"did you mean 'bundled:{near[0]}'? " if near else ""
    known = ", ".join(f"bundled:{name}" for name in BENCHMARKS)
    raise DesignError(f"no bundled benchmark '{benchmark}'; {hint}There are: {known}")


def task_names(benchmark: str) -> tuple[str, ...]:
    """Names of the benchmark's tasks, sorted; raises DesignError as `source` does."""
    return tuple(sorted(path.parent.name for path in source(benchmark).glob("*/task.toml")))
