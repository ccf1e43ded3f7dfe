"""The policies of the bundled tasks: policies, not models.

A policy is a script whose every step is known beforehand: `lean` answers within the task's spec,
`heavy` takes what memory it likes, `adaptive` tries heavy and turns lean after a kill, `mixed`
draws one of the two per sample from the seed. They show what bands do to agents that differ in
nothing but thrift.

A task that can be attempted so has a folder `policies/` with a `run.sh`. The folder is brought to
/policy when the agent phase begins, is no part of the image, and `sh /policy/run.sh <policy>` is
run in /app with INFRANOISE_SAMPLE, INFRANOISE_SEED and INFRANOISE_TASK. Where a pod cannot have
paths of its own, INFRANOISE_ROOT stands before /app, /logs, /tests, /solution and /policy.
"""

from pathlib import Path

from ..models.errors import TaskFileError

POLICIES = ("lean", "heavy", "adaptive", "mixed")


def policy_files(task_dir: Path) -> Path:
    """The folder of a task that is brought to /policy.

    Args:
        task_dir: a complete task directory, as `materialise` returns it.
    Raises:
        TaskFileError: this task has no policies; only bundled tasks do.
    """
    folder = task_dir / "policies"
    if not (folder / "run.sh").is_file():
        expected = "no such file; policies attempt bundled tasks only, so name another agent"
        raise TaskFileError(folder / "run.sh", "", expected)
    return folder
