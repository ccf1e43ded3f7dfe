"""The agents that need nothing but a shell in the pod: oracle, nop, command and policy."""

from pathlib import PurePosixPath

from ...models.errors import Refused, StartFailed
from ...models.execution import ExecResult
from ..api_use import api_use
from ..pods.pod import Pod
from .agent import Assignment, Tried, inside
from .patience import Patience

SOLUTION = PurePosixPath("/solution")
POLICY = PurePosixPath("/policy")
INSTRUCTION = PurePosixPath("/logs/agent/instruction.md")


class Oracle:
    """Runs the task's own solution: what it cannot solve, the infrastructure or the task broke."""

    def setup(self, pod: Pod, assignment: Assignment) -> None:
        task = assignment.task
        if not task.has_solution:
            raise Refused(
                f"task {task.name}: it has no solution/solve.sh, so `oracle` cannot run it; "
                "leave it out with exclude = [...]"
            )
        pod.upload(task.solution, SOLUTION)

    def run(self, pod: Pod, assignment: Assignment, timeout_s: float | None) -> Tried:
        env = assignment.env | assignment.resolved(assignment.task.solution_env)
        argv = ["bash", inside(pod, f"{SOLUTION}/solve.sh")]
        return Tried(_run(pod, assignment, argv, env, timeout_s), answered="yes")


class Nop:
    """Does nothing: what it solves is broken."""

    def setup(self, pod: Pod, assignment: Assignment) -> None:
        """Nothing is needed."""

    def run(self, pod: Pod, assignment: Assignment, timeout_s: float | None) -> Tried:
        return Tried(answered="no")


class CommandAgent:
    """Any command line, run in the pod.

    The instruction lies in the file that `INFRANOISE_INSTRUCTION` names; the model's name is in
    `INFRANOISE_MODEL`.
    """

    def setup(self, pod: Pod, assignment: Assignment) -> None:
        if assignment.task.has_instruction:
            pod.upload(assignment.task.instruction, INSTRUCTION)

    def run(self, pod: Pod, assignment: Assignment, timeout_s: float | None) -> Tried:
        env = assignment.env | {"INFRANOISE_INSTRUCTION": inside(pod, str(INSTRUCTION))}
        argv = list(assignment.entry.command or ())
        return Tried(_run(pod, assignment, argv, env, timeout_s))


class Policy:
    """A seeded script that ships with a bundled task. A policy, never a model."""

    def setup(self, pod: Pod, assignment: Assignment) -> None:
        scripts = assignment.task.directory / "policies"
        if not scripts.is_dir():
            raise StartFailed(
                f"task {assignment.task.name}: it ships no policies/; agent `policy` runs on "
                "bundled benchmarks only"
            )
        pod.upload(scripts, POLICY)

    def run(self, pod: Pod, assignment: Assignment, timeout_s: float | None) -> Tried:
        argv = ["sh", inside(pod, f"{POLICY}/run.sh"), assignment.entry.model]
        return Tried(_run(pod, assignment, argv, assignment.env, timeout_s))


def _run(
    pod: Pod, assignment: Assignment, argv: list[str], env: dict[str, str], timeout_s: float | None
) -> ExecResult:
    user, cwd, api = assignment.task.agent_user, assignment.task.workdir, assignment.api
    if api is None or api.api_wait == "counts" or timeout_s is None:
        return pod.exec(argv, timeout_s=timeout_s, env=env, user=user, cwd=cwd)

    def waited_s() -> float | None:
        use = api_use(api)
        return None if use is None else use.wait_s

    patience = Patience(timeout_s, api.longest_api_wait_s, waited_s)
    return patience.run(pod, argv, env=env, user=user, cwd=cwd)
