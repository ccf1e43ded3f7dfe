"""A task's folder on disk becomes a `Task`."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .errors import TaskFileError
from .folder_hash import NotHashable, folder_hash, text_hash
from .slug import slug
from .task import Task
from .task_declared import declared, doubts, unresolved
from .task_toml import TaskToml


def load_task(directory: Path, *, environ: Mapping[str, str] | None = None) -> Task:
    """The task in a folder.

    Args:
        directory: holds task.toml, instruction.md, environment/, tests/, and maybe solution/.
        environ: what `${VAR}` in env tables can be filled from; None: nothing.
    Raises:
        TaskFileError: task.toml is missing or no TOML, a key holds what it cannot hold, there is
            nothing to make a pod from, or nothing that could score it.
    """
    path = directory / "task.toml"
    toml = parse_task_toml(_text(path), path)
    _require_parts(directory, toml)
    title = (toml.task.name or "").strip() or directory.name
    return Task(
        name=slug_of(directory),
        title=title,
        directory=directory,
        **_hashes(directory, toml.environment.docker_image),
        **_presence(directory, toml),
        **declared(toml),
        unresolved=unresolved(toml, environ or {}),
        unknown=tuple(key for key, _, _ in toml.unknown()),
        warnings=tuple(_warnings(directory, toml)),
    )


def parse_task_toml(text: str, path: Path) -> TaskToml:
    """A checked task.toml; `path` is named in errors only.

    Raises:
        TaskFileError: the text is no TOML, or a key holds what it cannot hold.
    """
    try:
        return TaskToml.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise TaskFileError(path, "", f"this is not TOML: {error}") from error
    except ValidationError as error:
        raise _first_fault(error, path) from error


def slug_of(directory: Path) -> str:
    """A task's name: its suite's folder and its own, each fit for an image name."""
    whole = directory.resolve()
    return f"{slug(whole.parent.name)}/{slug(whole.name)}"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise TaskFileError(path, "", "there is no such file; a task needs one") from error
    except (OSError, UnicodeDecodeError) as error:
        raise TaskFileError(path, "", f"cannot be read as UTF-8 text: {error}") from error


def _first_fault(error: ValidationError, path: Path) -> TaskFileError:
    faults = error.errors(include_url=False, include_context=False)
    first = faults[0]
    expected = first["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
    found = "" if first["type"] == "value_error" else f", found {first['input']!r:.80}"
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return TaskFileError(path, ".".join(map(str, first["loc"])), f"{expected}{found}{more}")


def _require_parts(directory: Path, toml: TaskToml) -> None:
    environment = directory / "environment"
    sources = (environment / "Dockerfile", environment / "docker-compose.yaml")
    plain_files = toml.metadata.get("relocatable") is True
    if not (toml.environment.docker_image or plain_files or any(map(Path.is_file, sources))):
        raise TaskFileError(
            sources[0], "", "there is none, and [environment] names no docker_image instead"
        )
    script = "test.bat" if toml.environment.os == "windows" else "test.sh"
    for folder in _test_folders(directory, toml):
        parts = (folder / script, directory / "tests" / script, folder / "Dockerfile")
        if not any(map(Path.is_file, parts)):
            raise TaskFileError(folder / script, "", "there is none, so nothing scores this task")


def _test_folders(directory: Path, toml: TaskToml) -> list[Path]:
    if toml.steps:
        return [directory / "steps" / step.name / "tests" for step in toml.steps]
    return [directory / "tests"]


def _hashes(directory: Path, image: str | None) -> dict[str, Any]:
    try:
        return {
            "content_hash": folder_hash(directory),
            "environment_hash": text_hash(folder_hash(directory / "environment"), image or ""),
        }
    except NotHashable as error:
        raise TaskFileError(directory, "", str(error)) from error
    except OSError as error:
        raise TaskFileError(directory, "", f"a file cannot be read: {error}") from error


def _presence(directory: Path, toml: TaskToml) -> dict[str, Any]:
    solutions = [directory / "solution" / "solve.sh"] + [
        directory / "steps" / step.name / "solution" / "solve.sh" for step in toml.steps
    ]
    return {
        "has_dockerfile": (directory / "environment" / "Dockerfile").is_file(),
        "multi_container": (directory / "environment" / "docker-compose.yaml").is_file(),
        "has_instruction": (directory / "instruction.md").is_file(),
        "has_solution": any(map(Path.is_file, solutions)),
        "relocatable": toml.metadata.get("relocatable") is True,
    }


def _warnings(directory: Path, toml: TaskToml) -> Iterator[str]:
    if not toml.steps and not (directory / "instruction.md").is_file():
        yield "instruction.md is missing: an agent would be told nothing"
    yield from doubts(toml)
