"""What process pods are made from: a task's plain files laid out once, kept by content."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ...models.errors import ImageBuildFailed, Refused
from . import plain_files, private_tree
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
        ImageBuildFailed: a COPY names what is not there.
    """
    folder = state / "templates" / private_tree.slug(environment_hash)
    if not (folder / NOTE).exists():
        with _alone(folder.with_suffix(".lock")):
            if not (folder / NOTE).exists():
                _lay_out(folder, environment)
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
        _below(root, place).mkdir(parents=True, exist_ok=True)
    for step in recipe.copies:
        _copy(step, environment, root)
    note = {"workdir": str(recipe.workdir), "env": dict(recipe.env)}
    fresh = folder / f"{NOTE}.new"
    fresh.write_text(json.dumps(note))
    fresh.rename(folder / NOTE)


def _below(root: Path, place: PurePosixPath) -> Path:
    return root / place.relative_to("/")


def _copy(step: Copy, environment: Path, root: Path) -> None:
    target = _below(root, step.target)
    for source in _sources(step, environment):
        if source.is_dir() and not source.is_symlink():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
            place = target
        else:
            place = target / source.name if step.into_folder or target.is_dir() else target
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place, follow_symlinks=False)
        if step.mode is not None:
            _set_mode(place, step.mode)


def _sources(step: Copy, environment: Path) -> list[Path]:
    found: list[Path] = []
    for pattern in step.sources:
        plain = environment / pattern
        matches = [plain] if os.path.lexists(plain) else sorted(environment.glob(pattern))
        if not matches:
            raise ImageBuildFailed(f"COPY {pattern}: no such file in {environment}")
        found += matches
    return found


def _set_mode(place: Path, mode: int) -> None:
    for path in (place, *place.rglob("*")):
        if not path.is_symlink():
            path.chmod(mode)
