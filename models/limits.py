"""Floors and ceilings as numbers: what is asked of a pod, and what it really got."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .value import Value

OomScope = Literal["process", "pod"]
Bytes = Annotated[int, Field(gt=0)]
Cores = Annotated[float, Field(gt=0)]


class Limits(Value):
    """A band applied to one task's spec. A ceiling of None is uncapped, a floor of None is none.

    `swap_bytes` is swap *beyond* the memory ceiling (0: a page that does not fit is a kill, not a
    slow run). `oom_scope` says who dies at the ceiling: the kernel's victim, or the whole pod.
    """

    memory_floor_bytes: Bytes | None = None
    memory_ceiling_bytes: Bytes | None = None
    cpu_floor: Cores | None = None
    cpu_ceiling: Cores | None = None
    storage_floor_bytes: Bytes | None = None
    storage_ceiling_bytes: Bytes | None = None
    swap_bytes: Annotated[int, Field(ge=0)] = 0
    oom_scope: OomScope = "process"
    pids: Annotated[int, Field(gt=0)] = 4096

    @model_validator(mode="after")
    def _floors_lie_below_ceilings(self) -> "Limits":
        for name in ("memory_{}_bytes", "cpu_{}", "storage_{}_bytes"):
            floor = getattr(self, name.format("floor"))
            ceiling = getattr(self, name.format("ceiling"))
            if floor is not None and ceiling is not None and floor > ceiling:
                raise ValueError(f"{name.format('floor')} {floor} is above the ceiling {ceiling}")
        return self


class Effective(Value):
    """Limits as read back from the live cgroup or API object; None: not limited, or not readable.

    `enforcement` names the mechanism: the same number enforced otherwise is another band.
    `differs` lists, in words, each requested limit that is not in force. `egress_mbps` is the cap
    of the pod's link (megabits per second), `egress_down_mbps` and `egress_up_mbps` the payload
    that was measured through it, to the pod and from it, before anything ran there.
    """

    memory_floor_bytes: int | None = None
    memory_ceiling_bytes: int | None = None
    memory_and_swap_bytes: int | None = None
    cpu_shares: int | None = None
    cpu_ceiling: float | None = None
    cpuset: str | None = None
    storage_ceiling_bytes: int | None = None
    pids: int | None = None
    oom_scope: OomScope | None = None
    egress_mbps: float | None = None
    egress_down_mbps: float | None = None
    egress_up_mbps: float | None = None
    enforcement: str
    differs: tuple[str, ...] = ()
