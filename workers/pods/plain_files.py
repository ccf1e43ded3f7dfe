"""Dockerfiles that are plain files: what a pod without an image builder can make true.

The reader is pure: text in, `Recipe` out, or `Refused` with the instruction that needs a
container builder. FROM is taken as "some Linux with Python": the machine's own programs stand in
for the image's.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import MappingProxyType

from ...models.errors import Refused

REMEDY = 'use runtime = "docker" for it'
BASES = frozenset({"python", "debian", "ubuntu", "buildpack-deps"})
WITHOUT_EFFECT = frozenset(
    {"CMD", "ENTRYPOINT", "LABEL", "MAINTAINER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "SHELL"}
)
ARCHIVES = re.compile(r"\.(tar|tgz|tbz2?|txz|tzst|tar\.\w+)$")
ROOT = PurePosixPath("/")
VARIABLE = re.compile(r"\\\$|\$(?:(\w+)|\{(\w+)(?:(:[-+])([^}]*))?\})")


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
        reading.take(word.upper(), rest.strip(), line)
    if not reading.based:
        raise Refused(f"the Dockerfile has no FROM; {REMEDY}")
    return reading.recipe()


def instructions(text: str) -> Iterator[str]:
    """Logical lines: comments and blanks left out, continuations joined.

    >>> list(instructions("FROM x\\n# no\\nENV a=1 \\\\\\n  # nor this\\n  b=2\\n"))
    ['FROM x', 'ENV a=1 b=2']
    """
    held = ""
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        held = f"{held} {line}".strip()
        if held.endswith("\\"):
            held = held[:-1].rstrip()
            continue
        yield held
        held = ""
    if held:
        yield held


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replace $VAR, ${VAR}, ${VAR:-default} and ${VAR:+other}; an unknown one is empty.

    >>> expand("${A:-x}/$B/${C:+y}", {"B": "b", "C": "c"})
    'x/b/y'
    """

    def one(match: re.Match[str]) -> str:
        plain, braced, operator, word = match.groups()
        if match.group(0) == "\\$":
            return "$"
        value = values.get(plain or braced, "")
        if operator == ":-":
            return value or expand(word, values)
        if operator == ":+":
            return expand(word, values) if value else ""
        return value

    return VARIABLE.sub(one, text)


class _Reading:
    """What has been read so far."""

    def __init__(self, path: str) -> None:
        self.based = False
        self._workdir = ROOT
        self._env: dict[str, str] = {"PATH": path} if path else {}
        self._arguments: dict[str, str] = {}
        self._copies: list[Copy] = []
        self._folders: list[PurePosixPath] = []

    def recipe(self) -> Recipe:
        env = MappingProxyType(dict(self._env))
        return Recipe(self._workdir, env, tuple(self._copies), tuple(self._folders))

    def take(self, word: str, rest: str, line: str) -> None:
        """One instruction."""
        steps = {
            "FROM": self._from,
            "WORKDIR": self._go,
            "ENV": self._set,
            "ARG": self._argue,
            "COPY": self._copy,
            "ADD": self._add,
            "USER": self._become,
        }
        if word in WITHOUT_EFFECT:
            return
        if word not in steps:
            raise _refusal(line, f"{word} needs a container builder")
        if "<<" in rest and word in ("COPY", "ADD"):
            raise _refusal(line, "a here-document needs a container builder")
        steps[word](rest, line)

    def _values(self) -> Mapping[str, str]:
        return {**self._arguments, **self._env}

    def _from(self, rest: str, line: str) -> None:
        if self.based:
            raise _refusal(line, "a build in stages needs a container builder")
        words = [word for word in rest.split() if not word.startswith("--")]
        image = expand(words[0], self._values()) if words else ""
        name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
        if name not in BASES:
            raise _refusal(line, f"this machine's programs cannot stand in for image {image!r}")
        self.based = True

    def _go(self, rest: str, line: str) -> None:
        self._workdir = _normal(self._workdir / expand(_unquoted(rest, line), self._values()))
        self._folders.append(self._workdir)

    def _set(self, rest: str, line: str) -> None:
        first = rest.split(maxsplit=1)
        if first and "=" not in first[0]:  # the old form: ENV name all the rest
            pairs = [(first[0], first[1] if len(first) > 1 else "")]
        else:
            pairs = [(name, value) for name, _, value in _assignments(rest, line)]
        values = self._values()  # one ENV line does not see its own names
        self._env.update({name: expand(value, values) for name, value in pairs})

    def _argue(self, rest: str, line: str) -> None:
        for name, _, value in _assignments(rest, line):
            self._arguments[name] = expand(value, self._values())

    def _become(self, rest: str, line: str) -> None:
        if expand(rest, self._values()).partition(":")[0] not in ("root", "0"):
            raise _refusal(line, "a process pod's user is root")

    def _add(self, rest: str, line: str) -> None:
        _, words = _words(rest, line)
        for source in words[:-1]:
            if re.match(r"\w+://|git@", source) or ARCHIVES.search(source):
                raise _refusal(line, "ADD of an address or an archive needs a container builder")
        self._copy(rest, line)

    def _copy(self, rest: str, line: str) -> None:
        flags, words = _words(expand(rest, self._values()), line)
        if len(words) < 2:
            raise _refusal(line, "it names no source and target")
        *sources, target = words
        into_folder = target.endswith("/") or target in (".", "..") or len(sources) > 1
        place = _normal(self._workdir / target)
        cleaned = tuple(_normal(ROOT / source) for source in sources)
        names = tuple(str(source.relative_to("/")) for source in cleaned)
        self._copies.append(Copy(names, place, into_folder, _mode(flags, line)))


def _refusal(line: str, why: str) -> Refused:
    return Refused(f"Dockerfile, {line[:120]!r}: {why}; {REMEDY}", instruction=line)


def _unquoted(text: str, line: str) -> str:
    try:
        return " ".join(shlex.split(text))
    except ValueError as problem:
        raise _refusal(line, f"it cannot be read ({problem})") from problem


def _assignments(rest: str, line: str) -> list[tuple[str, str, str]]:
    try:
        return [word.partition("=") for word in shlex.split(rest)]
    except ValueError as problem:
        raise _refusal(line, f"it cannot be read ({problem})") from problem


def _words(rest: str, line: str) -> tuple[dict[str, str], list[str]]:
    """Flags and arguments of COPY, in its plain and its JSON form."""
    flags: dict[str, str] = {}
    while rest.startswith("--"):
        flag, _, rest = rest.partition(" ")
        name, _, value = flag.partition("=")
        flags[name], rest = value, rest.lstrip()
    if not rest.startswith("["):
        return flags, rest.split()
    try:
        return flags, [str(word) for word in json.loads(rest)]
    except ValueError as problem:
        raise _refusal(line, f"it cannot be read ({problem})") from problem


def _mode(flags: Mapping[str, str], line: str) -> int | None:
    owner = flags.get("--chown", "root").partition(":")[0]
    strange = set(flags) - {"--chown", "--chmod", "--link"}
    if strange or owner not in ("root", "0"):
        raise _refusal(line, f"{', '.join(sorted(strange)) or '--chown'} needs a container builder")
    if "--chmod" not in flags:
        return None
    if not re.fullmatch("[0-7]{3,4}", flags["--chmod"]):
        raise _refusal(line, "--chmod takes an octal number here")
    return int(flags["--chmod"], 8)


def _normal(path: PurePosixPath) -> PurePosixPath:
    """An absolute path without `.` and `..`, which cannot climb above the root."""
    parts: list[str] = []
    for part in path.parts[1:]:
        if part == "..":
            del parts[-1:]
        else:
            parts.append(part)
    return PurePosixPath("/", *parts)
