"""An experiment: tasks x entries x bands x other factors x samples, and how pods are made."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .allow import AllowList
from .api_access import TrialLimits
from .api_design import faults
from .band import Band
from .egress import Egress
from .entry import Entry
from .provider import Provider, Served
from .seating import ClusterPods
from .spec import Spec
from .value import Value

NAME = r"^[A-Za-z0-9][\w.-]{0,63}$"


class Factors(Value):
    """Assigned factors beside the band, crossed with it.

    `concurrency` is trials in flight per node, set per wave; `egress_mbps` caps the rate of a pod's
    link, both ways, in megabits per second, set per trial; `time_limit` multiplies each task's
    agent timeout, set per trial. A factor with a single level is a setting, not a factor.
    """

    concurrency: tuple[Annotated[int, Field(ge=1, le=512)], ...] = ()
    egress_mbps: tuple[Egress, ...] = ()
    time_limit: tuple[Annotated[float, Field(gt=0)], ...] = ()

    @model_validator(mode="after")
    def _levels_differ(self) -> "Factors":
        for name in ("concurrency", "egress_mbps", "time_limit"):
            levels = getattr(self, name)
            if len(set(levels)) != len(levels):
                raise ValueError(f"{name} names a level twice: {list(levels)}")
        return self


class Pods(Value):
    """How pods are made: runtime, network, images, and a spec for tasks that declare none.

    `network`: "public" leads everywhere, "internal" to the node and nowhere else, "none" nowhere,
    "gateway" to the gateway and to what `allow` names (see `allow.py`), and every host is counted.
    `images`: "named" takes the image that a task names and builds where it names none; "build"
    builds from every Dockerfile there is. `after_agent`: "stop" kills what the agent leaves running
    before the verifier starts; "keep" lets the services of an agent that ended by itself live on,
    for tasks whose answer is a running service. An agent that ran out of time is always stopped.
    `kubernetes` is for pods of a cluster alone.
    """

    runtime: Literal["auto", "process", "docker", "kubernetes"] = "auto"
    network: Literal["none", "internal", "gateway", "public"] = "public"
    allow: tuple[str, ...] = ()
    default_spec: Spec | None = None
    build_network: str | None = None
    images: Literal["named", "build"] = "named"
    after_agent: Literal["stop", "keep"] = "stop"
    kubernetes: ClusterPods = ClusterPods()

    @model_validator(mode="after")
    def _a_list_is_watched_over(self) -> "Pods":
        AllowList.of(self.allow)
        if self.allow and self.network != "gateway":
            raise ValueError(
                f'allow names what pods may reach with network = "gateway"; it is "{self.network}" '
                'here: set network = "gateway", or leave allow out'
            )
        return self


class Run(Value):
    """How the run is made. Infra errors are data: no retry unless `max_attempts` asks for it.

    No trial begins that could take what the models cost beyond `budget_usd`; a higher one, and the
    same command, goes on.
    """

    budget_usd: Annotated[float, Field(gt=0)] | None = None
    max_attempts: Annotated[int, Field(ge=1, le=20)] = 1
    default_agent_timeout_s: Annotated[float, Field(gt=0)] = 3600.0


class Experiment(Value):
    """One designed experiment. `bands` come in the order in which reports show them."""

    name: Annotated[str, Field(pattern=NAME)] = "experiment"
    tasks: Annotated[tuple[str, ...], Field(min_length=1)]
    exclude: tuple[str, ...] = ()
    samples: Annotated[int, Field(ge=1, le=100_000)] = 5
    seed: int = 20260205
    bands: Annotated[tuple[Band, ...], Field(min_length=1)] = tuple(
        Band.shorthand(text) for text in ("1x", "1.5x", "2x", "3x", "5x", "uncapped")
    )
    entries: Annotated[tuple[Entry, ...], Field(min_length=1)] = (Entry(agent="oracle"),)
    factors: Factors = Factors()
    pods: Pods = Pods()
    run: Run = Run()
    providers: dict[str, Provider] = Field(default_factory=dict)
    models: dict[str, Served] = Field(default_factory=dict)
    limits: TrialLimits = TrialLimits()

    @model_validator(mode="after")
    def _names_are_unique(self) -> "Experiment":
        for kind, names in (
            ("bands", [band.name for band in self.bands]),
            ("entries", [entry.name for entry in self.entries]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(
                    f"{kind}: {', '.join(twice)} named twice; give each a name of its own"
                )
        return self

    @model_validator(mode="after")
    def _a_cap_has_a_link(self) -> "Experiment":
        if self.factors.egress_mbps and self.pods.network == "none":
            raise ValueError(
                'factors.egress_mbps caps a link, and pods.network = "none" has none; set '
                'pods.network = "internal" or "public"'
            )
        return self

    @model_validator(mode="after")
    def _models_can_be_had(self) -> "Experiment":
        wrong = next(faults(self), None)
        if wrong:
            raise ValueError(wrong)
        return self

    def served(self, entry: Entry) -> Served | None:
        """How an entry's model is served; None where the entry asks no model of ours."""
        return self.models.get(entry.model)

    @property
    def needs_links(self) -> bool:
        """Whether its pods need links that a node makes or caps."""
        made = self.pods.network == "internal" and self.pods.runtime != "docker"
        return made or self.pods.network == "gateway" or bool(self.factors.egress_mbps)

    @property
    def reference(self) -> Band:
        """The floor band, against which lifts are measured: the tightest memory ceiling."""
        return min(self.bands, key=lambda band: band.memory.limit)
