"""What a checked task.toml says, in the words of `Task`."""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from .env_template import expanded
from .spec import Spec
from .task import Artifact, Healthcheck, Step
from .task_toml import (
    NEWEST_SCHEMA,
    AgentTable,
    ArtifactTable,
    EnvironmentTable,
    HealthcheckTable,
    StepTable,
    TaskToml,
    VerifierTable,
)

VERIFIER_TIMEOUT_S = 600.0


def declared(toml: TaskToml) -> dict[str, Any]:
    """The fields of `Task` that task.toml alone decides."""
    environment, verifier = toml.environment, toml.verifier
    return {
        "spec": _spec(environment, toml.agent, verifier),
        "schema_version": toml.schema_in_use,
        "image": environment.docker_image,
        "os": environment.os,
        "workdir": environment.workdir,
        "env": environment.env,
        "verifier_env": verifier.env,
        "solution_env": toml.solution.env,
        "agent_user": toml.agent.user,
        "verifier_user": verifier.user,
        "separate_verifier": verifier.separate or any(s.verifier.separate for s in toml.steps),
        "network_mode": environment.network,
        "allowed_hosts": environment.allowed_hosts or (),
        "gpu_types": environment.gpu_types or (),
        "healthcheck": environment.healthcheck and _healthcheck(environment.healthcheck),
        "mcp_servers": environment.mcp_servers,
        "skills_dir": environment.skills_dir,
        "artifacts": tuple(map(_artifact, toml.artifacts)),
        "steps": tuple(map(_step, toml.steps)),
        "step_reward": toml.multi_step_reward_strategy or ("mean" if toml.steps else None),
        "metadata": toml.metadata,
    }


def _spec(environment: EnvironmentTable, agent: AgentTable, verifier: VerifierTable) -> Spec:
    return Spec(
        cpus=environment.cpus,
        memory_mib=environment.memory_mb,
        storage_mib=environment.storage_mb,
        gpus=environment.gpus or 0,
        agent_timeout_s=agent.timeout_sec,
        verifier_timeout_s=verifier.timeout_sec or VERIFIER_TIMEOUT_S,
        build_timeout_s=environment.build_timeout_sec,
    )


def _healthcheck(table: HealthcheckTable) -> Healthcheck:
    return Healthcheck(
        command=table.command,
        interval_s=table.interval_sec,
        timeout_s=table.timeout_sec,
        start_period_s=table.start_period_sec,
        start_interval_s=table.start_interval_sec,
        retries=table.retries,
    )


def _artifact(table: ArtifactTable) -> Artifact:
    return Artifact(
        source=table.source,
        destination=table.destination or None,
        exclude=table.exclude,
        service=table.service,
    )


def _step(table: StepTable) -> Step:
    return Step(
        name=table.name,
        agent_timeout_s=table.agent.timeout_sec,
        verifier_timeout_s=table.verifier.timeout_sec,
        min_reward=table.min_reward,
    )


def unresolved(toml: TaskToml, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that env tables ask for and `environ` lacks, each once, in file order."""
    tables = (toml.environment.env, toml.verifier.env, toml.solution.env)
    step_tables = (step.verifier.env for step in toml.steps)
    names = (name for table in (*tables, *step_tables) for name in expanded(table, environ)[1])
    return tuple(dict.fromkeys(names))


def doubts(toml: TaskToml) -> Iterator[str]:
    """What in the file has no effect here, one line each."""
    for key, word, known in toml.unknown():
        near = difflib.get_close_matches(word, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        yield f"task.toml: {key} is not a key that is known here, and changes nothing{hint}"
    if _newer(toml.schema_in_use):
        yield f"schema version {toml.schema_in_use} is newer than {NEWEST_SCHEMA}, the newest known"
    if toml.agent.network_mode or toml.verifier.network_mode:
        yield "network_mode of [agent] or [verifier] is not applied: one network holds for a pod"


def _newer(version: str | None) -> bool:
    """Whether a version marker is above what this loader knows, or is no version at all."""
    if version is None:
        return False
    parts = version.split(".")
    if not all(part.isdecimal() for part in parts):
        return True
    return [int(part) for part in parts] > [int(part) for part in NEWEST_SCHEMA.split(".")]
