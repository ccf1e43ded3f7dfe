"""How much of a task collection loads: `python benchmarks/public_tasks.py FOLDER...`

Loads every task at or below the folders and prints, per folder, how many load, how many of those
with warnings or with variables that are not set here, and one line per fault. Exit code 1 when a
folder holds no task at all.
"""

import argparse
import collections
import os
import sys
import time
from pathlib import Path

from infranoise.models.errors import DesignError
from infranoise.models.task_set import TaskSet, find_tasks


def main() -> int:
    """Load, count, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--warnings", action="store_true", help="print every warning too")
    arguments = parser.parse_args()
    print(f"{'loaded':>7} {'warned':>7} {'unset':>7} {'faults':>7} {'seconds':>8}  folder")
    try:
        for folder in arguments.folders:
            _report(folder, shows_warnings=arguments.warnings)
    except DesignError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _report(folder: str, *, shows_warnings: bool) -> None:
    start = time.perf_counter()
    found = find_tasks([folder], Path.cwd(), environ=os.environ)
    took_s = time.perf_counter() - start
    warned = sum(bool(task.warnings) for task in found.tasks)
    unset = sum(bool(task.unresolved) for task in found.tasks)
    counts = (
        f"{len(found.tasks):>7} {warned:>7} {unset:>7} {len(found.malformed):>7} {took_s:>8.1f}"
    )
    print(f"{counts}  {folder}")
    for fault in (each.fault for each in found.malformed):
        print(f"  fault: {fault}")
    if shows_warnings:
        _print_warnings(found)


def _print_warnings(found: TaskSet) -> None:
    texts = collections.Counter(text for task in found.tasks for text in task.warnings)
    for text, count in texts.most_common():
        print(f"  warning, {count} tasks: {text}")


if __name__ == "__main__":
    sys.exit(main())
