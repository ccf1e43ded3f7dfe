"""Where imported results came from, how they were read, and what they cannot tell."""

from typing import Literal

from .value import Value

Kind = Literal["harbor", "inspect", "terminal-bench", "swe-bench", "table"]


class ModeCount(Value):
    """A source's word for how attempts ended, the word of ours that it was read as, how often.

    Of these `passed` had a full reward, and `unjudged` none at all: without a verdict nothing is
    the model's failure, so that they count as infra errors, the verifier's unless the word blames
    another.
    """

    mode: str
    judged: str
    attempts: int
    passed: int = 0
    unjudged: int = 0


class Total(Value):
    """A number that the source states of itself, and ours of the same; None: it states none."""

    what: str
    theirs: float | None
    ours: float
    note: str = ""

    @property
    def agrees(self) -> bool:
        """The source states the number, and it is ours."""
        return self.theirs is not None and abs(self.theirs - self.ours) < 1e-9


class Unrecorded(Value):
    """Something that the source does not record, why that matters, and how many trials it touches.

    `trials` is None where it touches all of them.
    """

    what: str
    why: str
    trials: int | None = None


class Source(Value):
    """One tree of results that others produced.

    `content_hash` covers every file that was read. `harness` is what produced the results, as far
    as it says so. `modes_version` is the version of the built-in table of modes and `overrides`
    the hash of the user's own, "" where there was none. `copies` counts trials that were met again
    with the same content, `faults` names the files that could not be read, and the trials that came
    again with another content.
    """

    kind: Kind
    path: str
    content_hash: str
    harness: str
    files: int
    trials: int
    copies: int = 0
    modes_version: int
    overrides: str = ""
    modes: tuple[ModeCount, ...] = ()
    unrecorded: tuple[Unrecorded, ...] = ()
    totals: tuple[Total, ...] = ()
    faults: tuple[str, ...] = ()
