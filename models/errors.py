"""Every error that infranoise raises on purpose.

    InfranoiseError
    ├── DesignError            the experiment as written cannot be run
    │   ├── TaskFileError      one task's files are wrong; the other tasks go on
    │   ├── ExperimentFileError
    │   └── SourceFault        one file of imported results is wrong; the other files go on
    ├── SampleTooSmall         a number was asked of counts that cannot give it
    ├── WireError              a message of a version or shape that we do not speak
    ├── LedgerError            the store refuses or cannot be read
    │   ├── StoreAway          its server cannot be reached; it may come back
    │   ├── Unreadable         one thing in it was written by another release; the others go on
    │   └── Deposed            another scheduler leads now; this one may write no more
    ├── BrokerError            the queue cannot be had
    ├── GatewayError           the gateway to model APIs cannot be had
    ├── BlobError              a packed task or a kept file cannot be had, or is not what it says
    └── PodError               infrastructure: never the model's fault
        ├── Refused            this runtime cannot run this task; names one that can
        ├── ImageBuildFailed
        ├── ImagePullFailed
        ├── Unschedulable
        ├── StartFailed
        └── PodLost            the pod or the way to it vanished while we worked

Facts are attributes; the text says what, where, and what to do.
"""

from pathlib import Path


class InfranoiseError(Exception):
    """Base of all errors raised on purpose; its text is fit for a user to read."""


class DesignError(InfranoiseError):
    """The experiment as written cannot be run."""


class TaskFileError(DesignError):
    """A task's files are malformed.

    Args:
        path: the file at fault.
        key: the dotted key in it, or "" when the whole file is meant.
        expected: what would have been right.
    """

    def __init__(self, path: Path, key: str, expected: str) -> None:
        self.path, self.key, self.expected = path, key, expected
        super().__init__(f"{path}: {key + ': ' if key else ''}{expected}")


class ExperimentFileError(DesignError):
    """The experiment file is malformed; same facts as `TaskFileError`."""

    def __init__(self, path: Path | str, key: str, expected: str) -> None:
        self.path, self.key, self.expected = path, key, expected
        super().__init__(f"{path}: {key + ': ' if key else ''}{expected}")


class SourceFault(DesignError):
    """A file of results that others produced cannot be read; nothing of it was taken in.

    Args:
        path: the file at fault.
        place: where in it: a line, a byte, a key, a trial; "" when the whole file is meant.
        problem: what is wrong, and what to do about it where something can be done.
    """

    def __init__(self, path: Path | str, place: str, problem: str) -> None:
        self.path, self.place, self.problem = path, place, problem
        super().__init__(f"{path}: {place + ': ' if place else ''}{problem}")


class SampleTooSmall(InfranoiseError):
    """A statistic was asked of counts that cannot give it."""


class WireError(InfranoiseError):
    """A message of a version or shape that this program does not speak."""


class LedgerError(InfranoiseError):
    """The store refuses, or holds something that cannot be read."""


class StoreAway(LedgerError):
    """The store's server cannot be reached, or went away; what was under way was not written."""


class Unreadable(LedgerError):
    """A document of the store is of another release; what else it holds can be worked on."""


class Deposed(LedgerError):
    """Another scheduler took the lead; nothing of what this one meant to do was done.

    Args:
        fence: the lead under which it was to be done.
        seen: the lead that the ledger or the queue server knows.
    """

    def __init__(self, fence: int, seen: int) -> None:
        self.fence, self.seen = fence, seen
        super().__init__(
            f"another scheduler leads (fence {seen}, ours was {fence}); nothing was changed: "
            "let it go on, or stop it and start this one again"
        )


class BrokerError(InfranoiseError):
    """The queue cannot be reached or started."""


class GatewayError(InfranoiseError):
    """The gateway to model APIs cannot be started, or does not answer."""


class BlobError(InfranoiseError):
    """A packed task or a kept file cannot be stored or had, or is not what it says it is."""


class PodError(InfranoiseError):
    """Infrastructure failed. `cause` is the outcome's word for it (see `outcome.Cause`)."""

    cause = "unknown"

    def __init__(self, message: str, **facts: str | int | float | bool | None) -> None:
        self.facts = facts
        super().__init__(message)


class Refused(PodError):
    """This runtime cannot run this task; the text names one that can."""

    cause = "start_failed"


class ImageBuildFailed(PodError):
    """The task's image could not be built."""

    cause = "image_build"


class ImagePullFailed(PodError):
    """The task's image could not be had."""

    cause = "image_pull"


class Unschedulable(PodError):
    """No room for the floor."""

    cause = "unschedulable"


class StartFailed(PodError):
    """The pod did not come up."""

    cause = "start_failed"


class PodLost(PodError):
    """The pod, or the way to it, vanished while work was under way."""

    cause = "network"
