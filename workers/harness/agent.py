"""The contract of an agent: it is set up in a pod, then tries the task until its time is up."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ...models.api_access import ApiAccess
from ...models.entry import Entry
from ...models.env_template import expanded
from ...models.errors import StartFailed
from ...models.evidence import Tri
from ...models.execution import ExecResult
from ...models.task import Task
from ..pods.pod import Pod


@dataclass(frozen=True, slots=True)
class Assignment:
    """What an agent is given: the task, who it is, which sample, and the seed of that sample.

    The seed is the same for one sample of a task in every band, so that bands differ in nothing
    but their limits. `environ` fills in the `${VAR}`s of the task's env tables. `api` is how it
    reaches its model, `api_in_pod` the gateway's address as pods see it ("": the same).
    """

    task: Task
    entry: Entry
    sample: int
    seed: int
    environ: Mapping[str, str]
    api: ApiAccess | None = None
    api_in_pod: str = ""

    @property
    def env(self) -> dict[str, str]:
        """What the command of an agent in the pod finds in its environment, the token too."""
        told = {} if self.api is None else self.api.env(self.api_in_pod)
        return told | self.own_env

    @property
    def own_env(self) -> dict[str, str]:
        """The same without the way to the model."""
        return self.entry.env | {
            "INFRANOISE_TASK": self.task.name,
            "INFRANOISE_MODEL": self.entry.model,
            "INFRANOISE_SAMPLE": str(self.sample),
            "INFRANOISE_SEED": str(self.seed),
        }

    def resolved(self, table: Mapping[str, str]) -> dict[str, str]:
        """An env table of the task with its `${VAR}`s filled in.

        Raises:
            StartFailed: a variable has no value on this node; a set-up error, not the model's.
        """
        filled, missing = expanded(table, self.environ)
        if missing:
            raise StartFailed(
                f"task {self.task.name}: its env tables need {', '.join(missing)}, which this "
                "node's environment does not set; export it where the worker starts"
            )
        return filled


@dataclass(frozen=True, slots=True)
class Tried:
    """How the agent ended. `result` is None where it ran no command of its own.

    `answered` is "no" only where the agent knows that it tried nothing; `fault` says how the agent
    itself broke (its own bug, never the pod's), `api_fault` how its model's API made it give up.
    `api_wait_s` is how long it waited for that, as it counts itself.
    """

    result: ExecResult | None = None
    answered: Tri = "unknown"
    fault: str = ""
    api_fault: str = ""
    api_wait_s: float | None = None


@runtime_checkable
class Recorder(Protocol):
    """An agent that keeps files of its own doing: asked when it has ended, however it did."""

    def files(self) -> Mapping[str, bytes]:
        """What is to be kept as artefacts, by name."""
        ...


class Agent(Protocol):
    """One kind of agent; an object serves one attempt."""

    def setup(self, pod: Pod, assignment: Assignment) -> None:
        """Bring what the agent needs into the pod. Outside the agent's clock.

        Raises:
            PodError: the pod or the way to it failed.
        """
        ...

    def run(self, pod: Pod, assignment: Assignment, timeout_s: float | None) -> Tried:
        """Try the task. The agent's clock runs; `timeout_s` binds it.

        Raises:
            PodLost: the pod went away under the agent.
        """
        ...


def inside(pod: Pod, path: str) -> str:
    """An absolute path as commands in this pod must write it (see `Pod.root`)."""
    return pod.root + path
