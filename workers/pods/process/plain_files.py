"""Dockerfiles that are plain files: what a pod without an image builder can make true.

The reader is pure: text in, `Recipe` out, or `Refused` with the instruction that needs a
container builder. FROM is taken as "some Linux with Python": the machine's own programs stand in
for the image's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import MappingProxyType

from ....models.errors import Refused
from ..dockerfile_text import arguments, assignments, expand, instructions, split

REMEDY = 'use runtime = "docker" for it'
BASES = frozenset({"python", "debian", "ubuntu", "buildpack-deps"})
WITHOUT_EFFECT = frozenset(
    {"CMD", "ENTRYPOINT", "LABEL", "MAINTAINER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "SHELL"}
)
REMOTE = re.compile(r"\w+://|git@")
ARCHIVES = re.compile(r"\.(tar|tgz|tbz2?|txz|tzst|tar\.\w+)$")
COPY_FLAGS = frozenset({"--chown", "--chmod", "--link"})
ROOT = PurePosixPath("/")


@dataclass(frozen=True, slots=True)
class Copy:
    """One COPY: sources relative to the context (may hold wildcards) to an absolute target."""

    sources: tuple[str, ...]
    target: PurePosixPath
    into_folder: bool
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a plain Dockerfile comes to. `folders` are made even when nothing is copied there."""

    workdir: PurePosixPath = ROOT
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    copies: tuple[Copy, ...] = ()
    folders: tuple[PurePosixPath, ...] = ()


def read(text: str, path: str = "") -> Recipe:
    """Read a Dockerfile.

    Args:
        path: the PATH that the image starts with, for `ENV PATH=/x:$PATH`.

    Raises:
        Refused: an instruction needs a container builder; its line is quoted.
    """
    reading = _Reading(path)
    for line in instructions(text):
        word, _, rest = line.partition(" ")
        try:
            reading.take(word.upper(), rest.strip())
        except ValueError as problem:
            told = f"Dockerfile, {line[:120]!r}: {problem}; {REMEDY}"
            raise Refused(told, instruction=line) from problem
    if not reading.based:
        raise Refused(f"the Dockerfile has no FROM; {REMEDY}")
    return reading.recipe()


class _Reading:
    """What has been read so far. A step says by ValueError why its line cannot be had."""

    def __init__(self, path: str) -> None:
        self.based = False
        self._workdir = ROOT
        self._env: dict[str, str] = {"PATH": path} if path else {}
        self._arguments: dict[str, str] = {}
        self._copies: list[Copy] = []
        self._folders: list[PurePosixPath] = []
        self._steps = {
            "FROM": self._from,
            "WORKDIR": self._go,
            "ENV": self._set,
            "ARG": self._argue,
            "COPY": self._copy,
            "ADD": self._add,
            "USER": self._become,
        }

    def recipe(self) -> Recipe:
        """What it all comes to."""
        env = MappingProxyType(dict(self._env))
        return Recipe(self._workdir, env, tuple(self._copies), tuple(self._folders))

    def take(self, word: str, rest: str) -> None:
        """One instruction."""
        if word in WITHOUT_EFFECT:
            return
        if word not in self._steps:
            raise ValueError(f"{word} needs a container builder")
        self._steps[word](rest)

    def _value(self, text: str) -> str:
        return expand(text, {**self._arguments, **self._env})

    def _from(self, rest: str) -> None:
        if self.based:
            raise ValueError("a build in stages needs a container builder")
        words = [word for word in rest.split() if not word.startswith("--")]
        image = self._value(words[0]) if words else ""
        if image.partition("@")[0].rpartition("/")[2].partition(":")[0] not in BASES:
            raise ValueError(f"this machine's programs cannot stand in for image {image!r}")
        self.based = True

    def _go(self, rest: str) -> None:
        self._workdir = normal(self._workdir / self._value(" ".join(split(rest))))
        self._folders.append(self._workdir)

    def _set(self, rest: str) -> None:
        first = rest.split(maxsplit=1)
        if first and "=" not in first[0]:  # the old form: ENV name all the rest
            pairs = [(first[0], first[1] if len(first) > 1 else "")]
        else:
            pairs = assignments(rest)
        # All are expanded before any is set: an ENV line does not see its own names.
        self._env.update([(name, self._value(value)) for name, value in pairs])

    def _argue(self, rest: str) -> None:
        for name, value in assignments(rest):
            self._arguments[name] = self._value(value)

    def _become(self, rest: str) -> None:
        if self._value(rest).partition(":")[0] not in ("root", "0"):
            raise ValueError("a process pod's user is root")

    def _add(self, rest: str) -> None:
        _, words = arguments(rest)
        if any(REMOTE.match(source) or ARCHIVES.search(source) for source in words[:-1]):
            raise ValueError("ADD of an address or an archive needs a container builder")
        self._copy(rest)

    def _copy(self, rest: str) -> None:
        if "<<" in rest:
            raise ValueError("a here-document needs a container builder")
        flags, words = arguments(self._value(rest))
        if len(words) < 2:
            raise ValueError("it names no source and target")
        *sources, target = words
        into_folder = target.endswith("/") or target in (".", "..") or len(sources) > 1
        names = tuple(str(normal(ROOT / source).relative_to(ROOT)) for source in sources)
        place = normal(self._workdir / target)
        self._copies.append(Copy(names, place, into_folder, _mode(flags)))


def _mode(flags: Mapping[str, str]) -> int | None:
    """The mode that a COPY sets; ValueError for flags that need more than files."""
    owner = flags.get("--chown", "root").partition(":")[0]
    strange = set(flags) - COPY_FLAGS
    if strange or owner not in ("root", "0"):
        raise ValueError(f"{', '.join(sorted(strange)) or '--chown'} needs a container builder")
    if "--chmod" not in flags:
        return None
    if not re.fullmatch("[0-7]{3,4}", flags["--chmod"]):
        raise ValueError("--chmod takes an octal number here")
    return int(flags["--chmod"], 8)


def normal(path: PurePosixPath) -> PurePosixPath:
    """An absolute path without `.` and `..`, which cannot climb above the root."""
    parts: list[str] = []
    for part in path.parts[1:]:
        if part == "..":
            del parts[-1:]
        else:
            parts.append(part)
    return ROOT.joinpath(*parts)
