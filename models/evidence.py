"""Evidence: the facts from which a trial's outcome is judged, as they were observed.

Nothing here is an opinion: an outcome can be judged again from it by a later rule. Tri-state facts
say "unknown" where the source cannot tell, never a guess.
"""

from typing import Literal

from pydantic import Field

from .api_call import ApiUse
from .counters import Counters
from .egress_seen import EgressSeen
from .kube_evidence import KubeEvidence
from .tri import Tri as Tri
from .value import Value

PhaseName = Literal["setup", "agent", "verifier"]


class Fault(Value):
    """Why the pod could not be had, or was lost: the cause's word, the reason, the facts."""

    cause: str
    message: str
    facts: dict[str, str | int | float | bool | None] = Field(default_factory=dict)


class Phase(Value):
    """One phase of an attempt. `counters` are cumulative at its end; `oom_kills` are its own.

    `left_behind` counts the processes that the phase left running and that were killed after it;
    `exit_code` is None where the command was cut off or lost; `wall_s` and `left_behind` are None
    where a source of imported results does not tell.
    """

    name: PhaseName
    exit_code: int | None = None
    timed_out: bool = False
    wall_s: float | None = 0.0
    oom_kills: int | None = None
    left_behind: int | None = 0
    lost: str = ""
    counters: Counters | None = None

    @property
    def main_was_killed(self) -> bool:
        """The phase's own command died of a SIGKILL while the kernel counted an OOM kill."""
        return self.exit_code == 137 and bool(self.oom_kills)


class Evidence(Value):
    """Everything known about how one attempt ended.

    `fault` is set where no phase could run to its end for a reason of the infrastructure;
    `agent_fault` where the agent itself broke; `harness_fault` where infranoise did;
    `teardown_fault` where only the removal of the pod failed, after the verdict.
    `reward` is the verifier's verdict in [0, 1]; `reward_fault` says why there is none.
    `kube` is what a cluster told of the pod, where the pod was one of a cluster's.
    `node_disk_full`: a disk of the node, not the pod's own ceiling, had no room at a phase's end.
    `node_silent_s`: how long its node had not been heard of when the attempt's lease ended.
    `api` is what the gateway saw of the model's API until the agent ended; `api_fault` says so
    where the agent itself gave up because of it. `egress` is what the pod did through its way out,
    where that was watched over.
    """

    node_seen: Tri = "yes"
    node_silent_s: float | None = None
    node_disk_full: Tri = "unknown"
    cancelled: str = ""
    fault: Fault | None = None
    phases: tuple[Phase, ...] = ()
    reward: float | None = None
    rewards: dict[str, float] = Field(default_factory=dict)
    reward_fault: str = ""
    answered: Tri = "unknown"
    agent_fault: str = ""
    harness_fault: str = ""
    teardown_fault: str = ""
    storage_exceeded: Tri = "unknown"
    deadline_exceeded: bool = False
    enforcement: str = ""
    kube: KubeEvidence | None = None
    api: ApiUse | None = None
    api_fault: str = ""
    egress: EgressSeen | None = None

    def phase(self, name: PhaseName) -> Phase | None:
        """The phase of that name, or None if it was not reached."""
        for phase in self.phases:  # asked many times of every attempt: a plain loop is cheapest
            if phase.name == name:
                return phase
        return None

    @property
    def agent_kills(self) -> int:
        """OOM kills before the verifier, as far as they are known."""
        return sum([p.oom_kills or 0 for p in self.phases if p.name != "verifier"])

    @property
    def verifier_kills(self) -> int:
        """OOM kills during the verifier, as far as they are known."""
        return sum([p.oom_kills or 0 for p in self.phases if p.name == "verifier"])
