"""The tasks of an experiment: what its patterns name, each under a name of its own."""

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import DesignError, TaskFileError
from .slug import unique
from .task import Task
from .task_file import load_task, slug_of

MARK_LENGTH = 6
ENTRIES_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Malformed:
    """A folder that is no good task: the name that it would have, and what is wrong."""

    name: str
    fault: TaskFileError


@dataclass(frozen=True, slots=True)
class TaskSet:
    """Tasks under unique names, and the folders that are no good task."""

    tasks: tuple[Task, ...]
    malformed: tuple[Malformed, ...] = ()


def find_tasks(
    patterns: Sequence[str], root: Path, *, environ: Mapping[str, str] | None = None
) -> TaskSet:
    """The tasks that patterns name, in the order of the patterns and then of the paths.

    A pattern is a task's folder, a folder with tasks somewhere below it, or a glob of such
    (`*`, `?`, `[…]`, `**`). A folder that several patterns name is loaded once. Of several tasks
    that would bear one name the first keeps it, the others get a mark of their content.

    Args:
        patterns: as in an experiment's `tasks`; relative ones start at `root`.
        environ: as in `load_task`.
    Raises:
        DesignError: a pattern names no task at all; the text says what there is instead.
    """
    folders: dict[Path, None] = {}
    for pattern in patterns:
        found = _folders(pattern, root)
        if not found:
            raise DesignError(_nothing(pattern, root))
        folders.update(dict.fromkeys(found))
    return _loaded(folders, environ)


def task_folders(folder: Path) -> Iterator[Path]:
    """Every folder with a task.toml at or below `folder`, sorted; none inside another one.

    Links and hidden folders are not followed.
    """
    for parent, folders, files in os.walk(folder):
        if "task.toml" in files:
            folders.clear()
            yield Path(parent)
        folders[:] = sorted(name for name in folders if not name.startswith("."))


def _folders(pattern: str, root: Path) -> list[Path]:
    matches = _matches(Path(pattern).expanduser(), root)
    return [task.resolve() for match in matches for task in task_folders(match)]


def _matches(pattern: Path, root: Path) -> list[Path]:
    """What lies there: the path itself when it exists, whatever signs it holds, else its glob."""
    if (root / pattern).exists():
        return [root / pattern]
    if pattern.is_absolute():
        root, pattern = Path(pattern.anchor), pattern.relative_to(pattern.anchor)
    return sorted(root.glob(str(pattern)))


def _loaded(folders: Iterable[Path], environ: Mapping[str, str] | None) -> TaskSet:
    tasks: dict[str, Task] = {}
    malformed: list[Malformed] = []
    for folder in folders:
        try:
            task = load_task(folder, environ=environ)
        except TaskFileError as fault:
            malformed.append(Malformed(slug_of(folder), fault))
            continue
        name = unique(task.name, task.content_hash[:MARK_LENGTH], tasks)
        tasks[name] = task.model_copy(update={"name": name})
    return TaskSet(tuple(tasks.values()), tuple(malformed))


def _nothing(pattern: str, root: Path) -> str:
    """What to say of a pattern without a task: where the search ended, and what is there."""
    whole = root / Path(pattern).expanduser()
    if _matches(Path(pattern).expanduser(), root):
        return f"tasks: {pattern!r}: there is no task.toml in it or below"
    existing = next(parent for parent in whole.parents if parent.is_dir())
    missing = whole.relative_to(existing).parts[0]
    entries = sorted(path.name for path in existing.iterdir() if not path.name.startswith("."))
    near = difflib.get_close_matches(missing, entries, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    shown = ", ".join(entries[:ENTRIES_SHOWN]) or "nothing"
    more = f" and {len(entries) - ENTRIES_SHOWN} more" if len(entries) > ENTRIES_SHOWN else ""
    return f"tasks: {pattern!r}: no {missing!r} in {existing}, which holds {shown}{more}{hint}"
