"""The verifier: the task's tests are brought in after the agent, run, and their verdict fetched."""

import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from ...models.execution import ExecResult
from ..pods.pod import Pod
from .agent import Assignment, inside
from .reward import Reward, read_reward

TESTS = PurePosixPath("/tests")
LOGS = PurePosixPath("/logs/verifier")


def verify(pod: Pod, assignment: Assignment, timeout_s: float) -> tuple[ExecResult, Reward]:
    """Run `/tests/test.sh` in the pod and read the reward that it leaves.

    Its exit code is not a verdict. A reward that the agent left in advance is removed first.

    Raises:
        PodError: the pod or the way to it failed.
    """
    task = assignment.task
    logs, tests = inside(pod, str(LOGS)), inside(pod, str(TESTS))
    pod.exec(["sh", "-c", 'rm -rf "$1"/* "$2"/*; mkdir -p "$1" "$2"', "sh", logs, tests])
    pod.upload(task.tests, TESTS)
    result = pod.exec(
        ["bash", f"{tests}/test.sh"],
        timeout_s=timeout_s,
        env=_env(assignment),
        user=task.verifier_user,
        cwd=task.workdir,
    )
    pod.quiesce()
    return result, fetch_reward(pod)


def fetch_reward(pod: Pod) -> Reward:
    """The reward that lies in the pod now."""
    with tempfile.TemporaryDirectory(prefix="infranoise-") as folder:
        if not pod.download(LOGS, Path(folder)):
            return Reward(fault="the verifier's folder is gone")
        return read_reward(Path(folder))


def _env(assignment: Assignment) -> Mapping[str, str]:
    return assignment.resolved(assignment.task.verifier_env)
