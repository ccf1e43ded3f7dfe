"""The end of one command in a pod."""

from .value import Value

KILLED = 137  # 128 + SIGKILL: what a shell, Docker and Kubernetes report for it


class Stream(Value):
    """A captured output: the tail that was kept, and how much there was."""

    tail: str = ""
    total_bytes: int = 0
    truncated: bool = False


class ExecResult(Value):
    """One command's end. `exit_code` is None when it was cut off at its timeout.

    A signal N reads as 128 + N, in every runtime.
    """

    exit_code: int | None
    timed_out: bool = False
    wall_s: float
    stdout: Stream = Stream()
    stderr: Stream = Stream()
