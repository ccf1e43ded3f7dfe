"""What a source's word for an ending means: a versioned table that its reader can override.

A *mode* is the source's own word: the type of an exception, a failure mode, a limit. It is read as
one of our causes, as `graded` (the verifier's reward stands) or as `cancelled`. Rules are tried in
order, the user's before the built-in ones, and the first that fits decides; a mode that no rule
knows is an infra error of cause `unknown`, for nobody can say whose fault it was.

A file of one's own rules (TOML), a list per kind of source:

    [[harbor]]
    mode = "NonZeroAgentExitCodeError"    # the mode, or a pattern such as "Api*"
    message = "exit code 137"             # optional: a regular expression found in its message
    means = "oom_killed"
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, get_args

from ..models.errors import DesignError
from ..models.outcome import FailedCause, InfraCause
from ..models.source import Kind

type Word = Literal[FailedCause, InfraCause, "graded", "cancelled"]
FAILURES: tuple[str, ...] = get_args(FailedCause)
WORDS: tuple[str, ...] = (*get_args(FailedCause), *get_args(InfraCause), "graded", "cancelled")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line: a mode (or pattern of modes), what its message must hold, what it then means; and
    whether it is the user's `own`."""

    mode: str
    means: Word
    message: re.Pattern[str] | None = None
    own: bool = False

    def fits(self, mode: str, message: str) -> bool:
        """This line is about that ending."""
        return fnmatchcase(mode, self.mode) and (
            self.message is None or self.message.search(message) is not None
        )


@dataclass(frozen=True, slots=True)
class Modes:
    """The rules of one kind of source, the user's first; `overrides` is the hash of the user's."""

    rules: tuple[Rule, ...]
    overrides: str = ""
    _known: dict[str, Word] = field(default_factory=dict, compare=False, repr=False)

    def word(self, mode: str, message: str = "") -> Word:
        """What an ending means. "" is the source's silence: the reward stands."""
        if not mode:
            return "graded"
        if (known := self._known.get(mode)) is not None:
            return known
        concerned = [rule for rule in self.rules if fnmatchcase(mode, rule.mode)]
        if not any(rule.message for rule in concerned):
            word: Word = concerned[0].means if concerned else "unknown"
            self._known[mode] = word
            return word
        return next((r.means for r in concerned if r.fits(mode, message)), "unknown")

    def settles(self, mode: str, message: str = "") -> bool:
        """The user's own rule makes this ending the model's failure, whether or not it was judged.

        The built-in rules never do: what nobody judged is no failure.
        """
        if not self.overrides or not mode:
            return False
        rule = next((rule for rule in self.rules if rule.fits(mode, message)), None)
        return rule is not None and rule.own and rule.means in FAILURES


def rules_in(path: Path, text: str) -> Mapping[str, Sequence[Rule]]:
    """The rules in a file of one's own, by kind of source.

    Raises:
        DesignError: the text is no TOML, or a rule is not of the form of the module's head.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DesignError(f"{path}: is no TOML: {error}") from error
    kinds = get_args(Kind)
    for name in tables:
        if name not in kinds:
            raise DesignError(f"{path}: {name}: unknown source{_hint(name, kinds)}")
    return {name: [_rule(path, name, k, row) for k, row in _rows(path, name, rows)]
            for name, rows in tables.items()}  # fmt: skip


def _rows(path: Path, name: str, rows: object) -> list[tuple[int, dict[str, object]]]:
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DesignError(f"{path}: {name}: write rules as [[{name}]] tables")
    return list(enumerate(rows, start=1))


def _rule(path: Path, name: str, number: int, row: Mapping[str, object]) -> Rule:
    where = f"{path}: {name}, rule {number}"
    for key, value in row.items():
        if key not in ("mode", "message", "means") or not isinstance(value, str):
            raise DesignError(f"{where}: {key}: rules have mode, message and means, all texts")
    means = row.get("means", "")
    if "mode" not in row:
        raise DesignError(f'{where}: needs mode = "…": a word of the source, or a pattern')
    if means not in WORDS:
        raise DesignError(f'{where}: means = "{means}" is no ending{_hint(str(means), WORDS)}')
    message = row.get("message")
    try:
        pattern = re.compile(str(message)) if message is not None else None
    except re.error as error:
        raise DesignError(f"{where}: message: no regular expression: {error}") from error
    return Rule(str(row["mode"]), means, pattern, own=True)  # type: ignore[arg-type]


def _hint(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, known, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(known)}"
