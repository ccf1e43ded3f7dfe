"""A Dockerfile as words: logical lines, variables, quotes. What they mean is read elsewhere."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping

VARIABLE = re.compile(r"\\\$|\$(?:(\w+)|\{(\w+)(?:(:[-+])([^}]*))?\})")
QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\\$""")
SHIELD = "\0"  # stands for a dollar sign that is to stay one


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

    return VARIABLE.sub(one, text).replace(SHIELD, "$")


def split(text: str) -> list[str]:
    """Words without their quotes, ready to be expanded: a `$` that quotes or a backslash protect
    is shielded. Raises ValueError: a quote is open."""

    def shield(match: re.Match[str]) -> str:
        quoted = match.group(0)
        return quoted.replace("$" if quoted.startswith("'") else "\\$", SHIELD)

    return shlex.split(QUOTED.sub(shield, text))


def assignments(text: str) -> list[tuple[str, str]]:
    """`a=1 b="2 3"` as pairs. Raises ValueError: a quote is open."""
    parts = (word.partition("=") for word in split(text))
    return [(name, value) for name, _, value in parts]


def arguments(text: str) -> tuple[dict[str, str], list[str]]:
    """Flags and arguments of COPY and ADD, in their plain and their JSON form.

    >>> arguments('--chmod=755 ["a b", "/c"]')
    ({'--chmod': '755'}, ['a b', '/c'])

    Raises:
        ValueError: it begins like JSON and is none.
    """
    flags: dict[str, str] = {}
    while text.startswith("--"):
        flag, _, text = text.partition(" ")
        name, _, value = flag.partition("=")
        flags[name], text = value, text.lstrip()
    if not text.startswith("["):
        return flags, text.split()
    return flags, [str(word) for word in json.loads(text)]
