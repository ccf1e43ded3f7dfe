"""What the configuration of a Harbor trial says: its entry, its band, how ceilings were enforced.

Source: Harbor 0.24 and 0.25, `harbor.models.trial.config`; what `auto` means per environment is in
`harbor.environments.resource_policies`.
"""

from pathlib import Path

from ..models.band import Band
from ..models.conditions import UNRECORDED
from ..models.entry import Entry
from ..models.foreign import Facts, told_conditions
from ..models.stamp import Stamp
from .fields import number, part, word
from .json_bounded import Object
from .labels import band_label, label, short
from .moments import hour_of
from .overlap import Neighbours
from .settings import settings

POLICIES = ("cpu_enforcement_policy", "memory_enforcement_policy")
ALONE = Neighbours()
OVERRIDES = (("cpus", ""), ("memory_mb", "MB"), ("storage_mb", "MB"), ("gpus", ""))


def entry_of(path: Path, raw: Object, config: Object, chosen: str | None) -> Entry:
    """Agent x model of a trial; agents that differ in a setting are different entries."""
    info = part(path, "agent_info", raw.get("agent_info"))
    model = part(path, "agent_info.model_info", info.get("model_info"))
    agent = label(path, "agent_info.name", info.get("name"))
    named = "/".join(filter(None, (word(model.get("provider")), word(model.get("name")))))
    options = _settings(path, config)
    told = ", ".join(f"{key}={value}" for key, value in sorted(options.items()))
    name = chosen or "/".join(filter(None, (agent, named))) + (f" ({told})" if told else "")
    return Entry(
        agent=f"harbor:{agent}",
        model=named or "none",
        name=short(name, 120),
        options=options,
    )


def band_of(path: Path, config: Object) -> Band:
    """The configuration of resources, named after all that Harbor says of it: no floor or ceiling
    that was in force."""
    environment = part(path, "config.environment", config.get("environment"))
    words = [runtime_of(environment)]
    for key in POLICIES:
        if (policy := word(environment.get(key))) not in ("", "auto"):
            words.append(f"{key.split('_')[0]}-{policy}")
    for name, unit in OVERRIDES:
        if (value := number(environment.get(f"override_{name}"))) is not None:
            words.append(f"{name.split('_')[0]}-{value:g}{unit}")
    return Band(name=band_label(" ".join(words)), stated=False)


def enforcement_of(path: Path, config: Object) -> str:
    """How ceilings were enforced, in Harbor's words."""
    environment = part(path, "config.environment", config.get("environment"))
    cpu, memory = (word(environment.get(key)) or "auto" for key in POLICIES)
    return f"Harbor on {runtime_of(environment)}: cpu {cpu}, memory {memory}"


def runtime_of(environment: Object) -> str:
    """The type of environment, or the class of a custom one."""
    return short(
        word(environment.get("type")) or word(environment.get("import_path")) or UNRECORDED
    )


def time_limit_of(config: Object) -> float | None:
    """The multiple of the task's own agent timeout that was in force."""
    own = number(config.get("agent_timeout_multiplier"))
    return own if own is not None else number(config.get("timeout_multiplier"))


def conditions_of(
    path: Path,
    config: Object,
    *,
    started: float | None = None,
    limit_s: float | None = None,
    slots: int | None = None,
    around: Neighbours = ALONE,
    stamp: Stamp | None = None,
) -> Facts:
    """What surrounded a trial, as far as its configuration, its clock and a stamp tell."""
    hour = hour_of(started)
    environment = part(path, "config.environment", config.get("environment"))
    return told_conditions(
        node=stamp.node if stamp else UNRECORDED,
        node_profile=stamp.profile.profile_hash if stamp else None,
        runtime=runtime_of(environment),
        network=UNRECORDED,
        requested=None,
        slots=slots,
        co_running_start=stamp.co_running_start if stamp else around.start,
        co_running_peak=stamp.co_running_peak if stamp else around.peak,
        co_running_end=stamp.co_running_end if stamp else around.end,
        load_start=stamp.load_start if stamp else None,
        load_end=stamp.load_end if stamp else None,
        hour_utc=hour.hour_utc,
        weekday=hour.weekday,
        agent_timeout_s=limit_s,
        time_limit=time_limit_of(config),
    )


def _settings(path: Path, config: Object) -> dict[str, str | int | float | bool]:
    agent = part(path, "config.agent", config.get("agent"))
    return settings(path, "config.agent.kwargs", agent.get("kwargs"))
