"""What may stand in a task.toml: Harbor's schema up to 1.4, with its legacy forms.

Defaults and meaning follow Harbor 0.25's task configuration
(harborframework.com/docs/tasks/configuration). Keys that are not named here are kept apart as
`unknown`, never refused. Sizes are MiB, times seconds.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from .size import mebibytes
from .task import NetworkMode, StepReward

NEWEST_SCHEMA = "1.4"


def _as_text(value: object) -> object:
    """Numbers and truth values as the text that a process would see."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_as_text)]
Env = dict[str, Text]
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Seconds = Amount


class Table(BaseModel):
    """One table of the file. Unknown keys are remembered, not refused."""

    model_config = ConfigDict(extra="allow", frozen=True)

    def unknown(self, prefix: str = "") -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """(dotted key, its last word, the words known beside it) of each unknown key below."""
        known = tuple(type(self).model_fields)
        for key in self.model_extra or ():
            yield prefix + key, key, known
        for key in known:
            value = getattr(self, key)
            for table in value if isinstance(value, tuple) else (value,):
                if isinstance(table, Table):
                    yield from table.unknown(f"{prefix}{key}.")


class PhaseTable(Table):
    network_mode: NetworkMode | None = None
    allowed_hosts: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _hosts_need_an_allowlist(self) -> "PhaseTable":
        if self.allowed_hosts and self.network_mode != "allowlist":
            raise ValueError('allowed_hosts needs network_mode = "allowlist" beside it')
        return self


class HealthcheckTable(Table):
    command: str
    interval_sec: float = 5.0
    timeout_sec: float = 30.0
    start_period_sec: float = 0.0
    start_interval_sec: float = 5.0
    retries: int = 3


class EnvironmentTable(PhaseTable):
    build_timeout_sec: Seconds = 600.0
    docker_image: str | None = None
    os: Annotated[Literal["linux", "windows"], BeforeValidator(_lower)] = "linux"
    cpus: Amount | None = None
    memory_mb: Amount | None = None
    storage_mb: Amount | None = None
    memory: str | None = None
    storage: str | None = None
    gpus: Annotated[int, Field(ge=0)] | None = None
    gpu_types: tuple[str, ...] | None = None
    tpu: dict[str, Any] | None = None
    allow_internet: bool | None = None
    mcp_servers: tuple[dict[str, Any], ...] = ()
    env: Env = Field(default_factory=dict)
    skills_dir: str | None = None
    healthcheck: HealthcheckTable | None = None
    workdir: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _legacy_sizes_become_numbers(cls, raw: object) -> object:
        if not isinstance(raw, dict):
            return raw
        return raw | {
            f"{resource}_mb": _agreed(resource, raw)
            for resource in ("memory", "storage")
            if isinstance(raw.get(resource), str)
        }

    @property
    def network(self) -> NetworkMode:
        """The network mode; the legacy `allow_internet` speaks only where nothing newer does."""
        if self.network_mode is not None:
            return self.network_mode
        return "no-network" if self.allow_internet is False else "public"


def _agreed(resource: str, raw: dict[str, object]) -> object:
    """MiB of the legacy size, which must be what the newer key says where both stand."""
    mib = mebibytes(str(raw[resource]))
    stated = raw.get(f"{resource}_mb")
    if stated is not None and stated not in (mib, int(mib)):
        raise ValueError(
            f"{resource} = {raw[resource]!r} ({mib:g} MiB) and {resource}_mb = {stated!r} differ; "
            f"keep {resource}_mb alone"
        )
    return mib


class AgentTable(PhaseTable):
    timeout_sec: Seconds | None = None
    user: Text | None = None


class CollectTable(Table):
    command: str
    service: str = "main"
    timeout_sec: float = 60.0
    user: Text | None = None


class VerifierTable(PhaseTable):
    timeout_sec: Seconds | None = None
    env: Env = Field(default_factory=dict)
    user: Text | None = None
    environment_mode: Literal["shared", "separate"] | None = None
    environment: EnvironmentTable | None = None
    collect: tuple[CollectTable, ...] = ()

    @model_validator(mode="after")
    def _a_shared_verifier_has_no_environment(self) -> "VerifierTable":
        if self.environment_mode == "shared" and self.environment is not None:
            raise ValueError('environment_mode = "shared" and [verifier.environment] exclude')
        return self

    @property
    def separate(self) -> bool:
        """Whether the verifier has a pod of its own."""
        return self.environment_mode == "separate" or self.environment is not None


class SolutionTable(Table):
    env: Env = Field(default_factory=dict)


class ArtifactTable(Table):
    source: str
    destination: str | None = None
    exclude: tuple[str, ...] = ()
    service: str | None = None


def _artifact(value: object) -> object:
    return {"source": value} if isinstance(value, str) else value


ArtifactEntry = Annotated[ArtifactTable, BeforeValidator(_artifact)]


def _reward_floor(value: object) -> object:
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"reward": value}


def _folder_name(name: str) -> str:
    if name in {"", ".", ".."} or any(character in name for character in "/\\\0"):
        raise ValueError(f"a step's name is the name of its folder, which {name!r} cannot be")
    return name


class StepTable(Table):
    name: Annotated[Text, AfterValidator(_folder_name)]
    agent: AgentTable = AgentTable()
    verifier: VerifierTable = VerifierTable()
    min_reward: Annotated[dict[str, float], BeforeValidator(_reward_floor)] = Field(
        default_factory=dict
    )
    healthcheck: HealthcheckTable | None = None
    artifacts: tuple[ArtifactEntry, ...] = ()


class PackageTable(Table):
    name: Text | None = None
    version: Text | None = None
    description: str = ""
    authors: tuple[dict[str, Any] | str, ...] = ()
    keywords: tuple[str, ...] | str = ()


class TaskToml(Table):
    """A whole task.toml."""

    schema_version: Text | None = None
    version: Text | None = None
    task: PackageTable = PackageTable()
    metadata: dict[str, Any] = Field(default_factory=dict)
    agent: AgentTable = AgentTable()
    verifier: VerifierTable = VerifierTable()
    environment: EnvironmentTable = EnvironmentTable()
    solution: SolutionTable = SolutionTable()
    source: str | None = None
    steps: tuple[StepTable, ...] = ()
    multi_step_reward_strategy: StepReward | None = None
    multi_step_reward_mode: str | None = None
    artifacts: tuple[ArtifactEntry, ...] = ()

    @model_validator(mode="after")
    def _steps_have_names_of_their_own(self) -> "TaskToml":
        names = [step.name for step in self.steps]
        if len(set(names)) < len(names):
            raise ValueError(f"steps need names of their own, found {', '.join(names)}")
        return self

    @property
    def schema_in_use(self) -> str | None:
        """The version marker, of either spelling; the newer spelling wins."""
        return self.schema_version or self.version
