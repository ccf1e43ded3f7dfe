"""What process pods are made from: a task's plain files laid out once, kept by content."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ....models.errors import ImageBuildFailed, PodLost, Refused
from . import plain_files, private_tree, tree_copy, tree_steps
from .plain_files import REMEDY, Copy, Recipe
from .userland import PATH

COMPOSE = "docker-compose.yaml"
NOTE = "template.json"


@dataclass(frozen=True, slots=True)
class Template:
    """A laid-out environment: its files below `root`, and what commands start with."""

    id: str
    root: Path
    workdir: str
    env: Mapping[str, str]


def refusal(environment: Path, image: str | None) -> str | None:
    """Why this environment is not plain files, with the remedy; None if it is."""
    if (environment / COMPOSE).exists():
        return f"the task runs several containers ({COMPOSE}); {REMEDY}"
    if not (environment / "Dockerfile").is_file():
        named = f"is the image {image}" if image else "has no Dockerfile"
        return f"the task's environment {named}, not plain files; {REMEDY}"
    if (environment / ".dockerignore").exists():
        return f"the task's build has a .dockerignore; {REMEDY}"
    try:
        recipe_of(environment)
    except Refused as problem:
        return str(problem)
    return None


def recipe_of(environment: Path) -> Recipe:
    """Read the environment's Dockerfile; raises Refused."""
    text = (environment / "Dockerfile").read_text(encoding="utf-8", errors="replace")
    return plain_files.read(text, PATH)


def template_id(environment_hash: str) -> str:
    """The content id of what a pod is made from; the FROM line is not part of it."""
    return f"process:{environment_hash}"


def build(state: Path, environment: Path, environment_hash: str) -> Template:
    """Lay an environment out, unless it is there already; one builder at a time per content.

    Raises:
        Refused: it is not plain files.
        ImageBuildFailed: a COPY names what is not there, or has no place to go to.
    """
    folder = state / "templates" / private_tree.slug(environment_hash)
    if not (folder / NOTE).exists():
        with _alone(folder.with_suffix(".lock")):
            if not (folder / NOTE).exists():
                try:
                    _lay_out(folder, environment)
                except (OSError, PodLost) as problem:
                    raise ImageBuildFailed(f"{environment}: {problem}") from problem
    return load(state, environment_hash)


def load(state: Path, environment_hash: str) -> Template:
    """A template that was built before; raises ImageBuildFailed when it is not there."""
    folder = state / "templates" / private_tree.slug(environment_hash)
    try:
        noted = json.loads((folder / NOTE).read_text())
    except OSError as problem:
        raise ImageBuildFailed(f"no template for {environment_hash}: {problem}") from problem
    return Template(template_id(environment_hash), folder / "root", noted["workdir"], noted["env"])


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _lay_out(folder: Path, environment: Path) -> None:
    recipe = recipe_of(environment)
    private_tree.remove(folder)  # what a builder that died left half made
    root = folder / "root"
    root.mkdir(parents=True)
    for place in recipe.folders:
        tree_copy.make_folder(root, place, None)
    for step in recipe.copies:
        for source in _sources(step, environment):
            _copy(source, step, root)
    note = {"workdir": str(recipe.workdir), "env": dict(recipe.env)}
    fresh = folder / f"{NOTE}.new"
    fresh.write_text(json.dumps(note))
    fresh.rename(folder / NOTE)


def _copy(source: Path, step: Copy, root: Path) -> None:
    """One source of a COPY, by steps that follow no link of the task's."""
    target = step.target
    if source.is_dir() and not source.is_symlink():
        tree_copy.put(root, source, target, None)
    else:
        there = root.joinpath(*target.parts[1:])
        if step.into_folder or (there.is_dir() and not there.is_symlink()):
            target /= source.name
        with tree_steps.ensured(root, target.parts[1:-1], None) as place:
            tree_copy.put_file(source, place, target.name, None)
    if step.mode is not None:
        _set_mode(root.joinpath(*target.parts[1:]), step.mode)


def _sources(step: Copy, environment: Path) -> list[Path]:
    """What a COPY names, wildcards resolved.

    Raises:
        ImageBuildFailed: nothing, or something outside the environment.
    """
    found: list[Path] = []
    for pattern in step.sources:
        plain = environment / pattern
        try:
            matches = [plain] if os.path.lexists(plain) else sorted(environment.glob(pattern))
        except (ValueError, NotImplementedError):  # no pattern at all
            matches = []
        if not matches:
            raise ImageBuildFailed(f"COPY {pattern}: no such file in {environment}")
        found += matches
    home = environment.resolve()
    for source in found:
        if source != environment and not source.parent.resolve().is_relative_to(home):
            raise ImageBuildFailed(f"COPY {source}: a link leads it out of {environment}")
    return found


def _set_mode(place: Path, mode: int) -> None:
    for path in (place, *place.rglob("*")):
        if not path.is_symlink():
            path.chmod(mode)
