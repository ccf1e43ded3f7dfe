"""A task: one problem of a benchmark, as its author declared it."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from .spec import Spec
from .value import Value

NetworkMode = Literal["public", "no-network", "allowlist"]
StepReward = Literal["mean", "final"]


class Healthcheck(Value):
    """A command that must exit 0 before the agent starts; the words are Docker's."""

    command: str
    interval_s: float = 5.0
    timeout_s: float = 30.0
    start_period_s: float = 0.0
    start_interval_s: float = 5.0
    retries: int = 3


class Artifact(Value):
    """A path in the pod that is kept after the agent, and where it goes."""

    source: str
    destination: str | None = None
    exclude: tuple[str, ...] = ()
    service: str | None = None


class Step(Value):
    """One step of a multi-step task; None inherits the task's own clock.

    `min_reward` holds, per reward name, what this step must reach for the next one to run.
    """

    name: str
    agent_timeout_s: float | None = None
    verifier_timeout_s: float | None = None
    min_reward: dict[str, float] = Field(default_factory=dict)


class Task(Value):
    """A task as loaded from its folder.

    `name` is unique within a `TaskSet` and safe in image names, paths and keys; `title` is what
    the author wrote. `content_hash` covers the whole folder, `environment_hash` what the image is
    made of. Env tables are as written (see `env_template.expanded`); `unresolved` names their
    variables that had no value where the task was loaded. `relocatable`: the environment is plain
    files that also work under another root. `unknown` names the keys of task.toml that nobody
    here knows, dotted; they and the `warnings` change nothing.
    """

    name: str
    title: str
    directory: Path
    content_hash: str
    environment_hash: str
    spec: Spec = Spec()
    schema_version: str | None = None
    image: str | None = None
    has_dockerfile: bool = False
    has_solution: bool = False
    has_instruction: bool = True
    multi_container: bool = False
    relocatable: bool = False
    os: Literal["linux", "windows"] = "linux"
    workdir: str | None = None
    env: dict[str, str] = Field(default_factory=dict)
    verifier_env: dict[str, str] = Field(default_factory=dict)
    solution_env: dict[str, str] = Field(default_factory=dict)
    unresolved: tuple[str, ...] = ()
    agent_user: str | None = None
    verifier_user: str | None = None
    separate_verifier: bool = False
    network_mode: NetworkMode = "public"
    allowed_hosts: tuple[str, ...] = ()
    gpu_types: tuple[str, ...] = ()
    healthcheck: Healthcheck | None = None
    mcp_servers: tuple[dict[str, Any], ...] = ()
    skills_dir: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    steps: tuple[Step, ...] = ()
    step_reward: StepReward | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def environment(self) -> Path:
        """The folder that the image is built from."""
        return self.directory / "environment"

    @property
    def instruction(self) -> Path:
        """The file with the words that the agent is given."""
        return self.directory / "instruction.md"

    @property
    def tests(self) -> Path:
        """The folder that the verifier is given as `/tests`."""
        return self.directory / "tests"

    @property
    def solution(self) -> Path:
        """The folder that the oracle is given as `/solution`."""
        return self.directory / "solution"

    @property
    def gpus(self) -> int:
        """How many GPUs the task declares."""
        return self.spec.gpus
