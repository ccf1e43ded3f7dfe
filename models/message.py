"""The wire: what home tells a node, and what a node tells home. JSON only, versioned.

Names of queues, tasks and Redis keys live here and nowhere else; scheduler and workers know each
other by them alone.

| key or name | kind | meaning |
|---|---|---|
| `node.<id>` | Celery queue | attempts placed on that node |
| `infranoise.attempt` | Celery task | run one attempt |
| `infranoise.probe` | Celery task | probe the node's speed now |

The keys of leases, nodes and records are in `lease/keys.py`.
"""

from typing import Literal, Self

from pydantic import Field, ValidationError

from .api_access import ApiAccess
from .conditions import Clocks, Conditions, Usage
from .egress import Egress
from .entry import Entry
from .errors import WireError
from .evidence import Evidence
from .execution import Stream
from .limits import Limits
from .link import Network, network_of
from .node import NodeProfile
from .origin import Origin
from .seating import Seat
from .task import Task
from .trial import TrialKey
from .value import Value

RUN_ATTEMPT = "infranoise.attempt"
PROBE_NODE = "infranoise.probe"
RECORD_FIELD = "record"


def node_queue(node: str) -> str:
    """The Celery queue of a node."""
    return f"node.{node}"


class _Message(Value):
    version: int

    def encode(self) -> str:
        """This message as JSON."""
        return self.model_dump_json()

    @classmethod
    def decode(cls, text: str | bytes) -> Self:
        """The message in a JSON text.

        Raises:
            WireError: another version than ours, or not of this shape.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "the message"
            remedy = (
                "; scheduler and workers must run the same infranoise release"
                if where == "version"
                else ""
            )
            raise WireError(f"{cls.__name__}: {where}: {first['msg']}{remedy}") from error


class AttemptMessage(_Message):
    """One attempt, self-contained: a node needs nothing else to run it.

    `fence` is the token of the lease under which it is sent: a message with an old one is refused.
    `blobs` is where the task's folder lies packed, under its content hash, and where logs go;
    "": `task.directory` is a folder of the node itself. `allow` is what the pod may reach beside
    the gateway where `network` is "gateway". `egress_mbps` None: the pod's link is neither capped
    nor measured. `replay_in` names the band of a kill replay, where `limits` are not those of the
    trial's own band. `seat` is where in a cluster its pod is to go. `api` is how the attempt
    reaches its model, where it has one of the experiment's.
    """

    version: Literal[1] = 1
    attempt_id: str
    trial_id: str
    experiment: str
    key: TrialKey
    number: int = Field(ge=1)
    fence: int = 0
    blobs: str = ""
    task: Task
    entry: Entry
    limits: Limits
    runtime: Literal["process", "docker", "kubernetes"]
    network: Network
    allow: tuple[str, ...] = ()
    egress_mbps: Egress | None = None
    agent_timeout_s: float | None
    verifier_timeout_s: float
    build_timeout_s: float
    keep_services: bool = False
    seed: int
    queued_at: float
    placed_at: float
    deadline_at: float
    replay_in: str | None = None
    seat: Seat | None = None
    api: ApiAccess | None = None

    @property
    def network_in_force(self) -> Network:
        """The network of the pod, as its task and the experiment want it."""
        return network_of(self.task, self.network)

    @property
    def allow_in_force(self) -> tuple[str, ...]:
        """What the pod may reach beside the gateway, where its network is watched over."""
        if self.network_in_force != "gateway":
            return ()
        return tuple(dict.fromkeys((*self.task.allowed_hosts, *self.allow)))


class Logs(Value):
    """Tails of what agent and verifier printed (full captures are artefacts)."""

    agent: Stream = Stream()
    verifier: Stream = Stream()


class Artefact(Value):
    """A kept file of an attempt, by content."""

    name: str
    sha256: str
    size_bytes: int


class AttemptRecord(_Message):
    """What one attempt left: the facts, never a verdict (that is `classify`'s, at home).

    `origin` is set where others ran the attempt and we only read of it. `profile` is what the node
    is, where that is not the worker's own machine.
    """

    version: Literal[1] = 1
    attempt_id: str
    trial_id: str
    experiment: str
    number: int
    evidence: Evidence
    conditions: Conditions
    usage: Usage
    clocks: Clocks
    logs: Logs = Logs()
    artefacts: tuple[Artefact, ...] = ()
    image_id: str = ""
    worker_version: str
    profile: NodeProfile | None = None
    origin: Origin | None = None
