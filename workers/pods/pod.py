"""The contract of a pod: the sandbox of one attempt, whatever runs it.

`Pods` is a kind of pod on this node (one object per worker process, safe to use from many
threads); `Pod` is one sandbox (used by one thread). A runtime is a module with one `Pods` class;
`tests/services/pod_contract.py` says what all of them must do.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol, Self, runtime_checkable

from ...models.counters import Counters
from ...models.egress import Egress
from ...models.egress_seen import EgressSeen
from ...models.execution import ExecResult
from ...models.kube_evidence import KubeEvidence
from ...models.kube_pod import KubePod
from ...models.limits import Effective, Limits
from ...models.link import Network
from ...models.load import Load
from ...models.node import NodeProfile
from ...models.seating import Seat

LINKED: frozenset[Network] = frozenset({"internal"})
"""Networks of a pod that lead to its node and nowhere else."""
WATCHED: frozenset[Network] = frozenset({"gateway"})
"""Networks of a pod that lead where an allow-list says, through an outlet of the node's."""
PEER_URL = "INFRANOISE_PEER_URL"
"""Names, inside a pod that has a link, the server at the node's end of it."""
PROXY = "INFRANOISE_PROXY_URL"
"""Names, inside a pod whose way out is watched over, the proxy there, for who wants one."""
OUTPUT_CAP_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PodOrder:
    """What one attempt asks of a runtime.

    `environment` is the task's `environment/` folder, content-addressed by `environment_hash`;
    `image` is the image that the task names instead of a Dockerfile. `expires_at` (Unix seconds)
    is when `reap` may take the pod for abandoned. `allow` names what it may reach where `network`
    is watched over, beside the `gateway` (a URL as this node finds it). `egress_mbps` None: its
    link is neither capped nor measured. `seat` is where in a cluster it is to go.
    """

    attempt_id: str
    experiment: str
    trial: str
    environment: Path
    environment_hash: str
    limits: Limits
    expires_at: float
    image: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None
    network: Network = "public"
    allow: tuple[str, ...] = ()
    gateway: str = ""
    egress_mbps: Egress | None = None
    build_timeout_s: float = 600.0
    start_timeout_s: float = 60.0
    output_cap_bytes: int = OUTPUT_CAP_BYTES
    relocatable: bool = False
    seat: Seat | None = None


class Pod(Protocol):
    """One sandbox. A context manager: entering starts it, leaving stops and removes it.

    `root` is the prefix of absolute paths inside: "" where the pod has its own file tree, else
    the private folder that stands in for `/` (commands see it as `INFRANOISE_ROOT`).
    `image_id` names what it was made from, by content.
    """

    root: str
    image_id: str

    def start(self) -> Effective:
        """Bring the pod up; return its limits as read back.

        Raises:
            StartFailed, Unschedulable, Refused: with the runtime's own reason in the text.
        """
        ...

    def exec(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
    ) -> ExecResult:
        """Run one command to its end, never twice.

        The clock starts when the command does. At the timeout every process of the pod but its
        PID 1 is killed and the result says `timed_out`. Each stream keeps the last
        `output_cap_bytes`. A child that outlives the command and holds its output open does not
        hold the call open for longer than a second.

        Raises:
            PodLost: the pod, or the way to it, went away; whether the command ended is unknown.
        """
        ...

    def quiesce(self) -> int:
        """Kill every process in the pod but its PID 1, and return how many there were.

        On return none of them runs any more. Processes that forked in the meantime are killed too.
        """
        ...

    def upload(self, source: Path, target: PurePosixPath) -> None:
        """Copy a file, or a folder's contents, from this machine to `target` in the pod.

        Parents are made. Symlinks inside `source` are copied as links, never followed out.
        """
        ...

    def download(self, source: PurePosixPath, target: Path) -> bool:
        """Copy a file or folder out of the pod to `target`; False if there is no such path.

        What the pod holds is hostile: absolute names, `..`, links that leave `target`, devices
        and fifos are left out; no more than the storage ceiling (or 1 GiB) is written.
        """
        ...

    def counters(self) -> Counters:
        """What the pod has consumed until now, read from outside it."""
        ...

    def stop(self) -> None:
        """Kill and remove everything. Safe to call twice, and after a failed start."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """What a cluster gave a pod: the pod as it was granted, the node that it ran on, and that
    node's load at the start and when it was last looked at. None: nobody could tell."""

    pod: KubePod
    profile: NodeProfile | None
    load_start: Load | None
    load_end: Load | None


@runtime_checkable
class Witnessed(Protocol):
    """A pod of whose end someone else can tell: a cluster's."""

    def ending(self, verdict_at: float | None = None) -> KubeEvidence | None:
        """What was told of the pod until now; None where it was never asked for.

        Args:
            verdict_at: when the verdict was read, Unix seconds of this machine.
        """
        ...

    def whereabouts(self) -> Whereabouts | None:
        """Where the pod was and what it was given; None where the cluster never took it."""
        ...


@runtime_checkable
class Watched(Protocol):
    """A pod whose way out may be watched over."""

    def egress(self) -> EgressSeen | None:
        """What it did through its outlet until now, or in all once it is stopped; None: it has no
        outlet."""
        ...


class Pods(Protocol):
    """A kind of pod on this node."""

    name: str

    def refuse(self, order: PodOrder) -> str | None:
        """Why this runtime cannot run such a task at all, with the remedy; None if it can."""
        ...

    def refuse_link(self, network: Network, egress_mbps: Egress | None) -> str | None:
        """Why pods here cannot have such a link, whatever the task; `refuse` says so, too."""
        ...

    def prepare(self, order: PodOrder) -> str:
        """Build or fetch what the pod is made from; idempotent; returns its content id.

        Concurrent calls for one `environment_hash` do the work once.

        Raises:
            ImageBuildFailed, ImagePullFailed, Refused
        """
        ...

    def pod(self, order: PodOrder) -> Pod:
        """The pod of an order, not yet started; `prepare` was called before."""
        ...

    def reap(self, *, now: float, alive: Collection[str] = ()) -> tuple[str, ...]:
        """Remove pods of ours whose expiry passed, or that a dead worker on this node left.

        Args:
            now: Unix seconds.
            alive: attempt ids to leave alone.
        Returns: the attempt ids that were removed.
        """
        ...

    def facts(self) -> dict[str, str | int | float | bool | None]:
        """What this runtime is here: versions, enforcement, what it cannot do."""
        ...

    def close(self) -> None:
        """Give back what the runtime itself holds; pods that run are not touched."""
        ...
