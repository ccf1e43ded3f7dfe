"""Where an attempt that others ran was read, and what only its source says of it."""

from .value import Value


class Origin(Value):
    """The source of an imported attempt.

    `kind` is the source's format, `id` its own name of the attempt, `run` of the job or run that
    it belonged to. `mode` is the source's word for how it ended, "" where it says nothing, and
    `judged` the word of ours that it was read as. `task_hash` is the task's content as the source
    names it.
    """

    kind: str
    id: str
    run: str = ""
    mode: str = ""
    judged: str = ""
    harness: str = ""
    agent_version: str = ""
    task_hash: str = ""
