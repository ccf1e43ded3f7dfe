"""Names of tasks where there is little room."""

from collections.abc import Sequence

from ..printable import one_line


def short_names(tasks: Sequence[str]) -> dict[str, str]:
    """Task -> its name where there is little room: without the benchmark's, where all are of one.

    >>> short_names(["suite/a", "suite/b"])
    {'suite/a': 'a', 'suite/b': 'b'}
    """
    benchmarks = {task.partition("/")[0] for task in tasks if "/" in task}
    alike = len(benchmarks) == 1 and all("/" in task for task in tasks)
    return {task: one_line(task.partition("/")[2] if alike else task, 60) for task in tasks}
