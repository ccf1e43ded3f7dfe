"""What a node can hold, and what an attempt's floor takes of it."""

from dataclasses import dataclass

from ..limits import Limits

CLUSTER_CPUS, CLUSTER_BYTES = 1 << 20, 1 << 50
"""What a worker offers whose pods are a cluster's: more than there is; it says no itself."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """Milli-cores, bytes and slots: of a node in all, free on it, or taken by a floor."""

    cpu_m: int
    memory_bytes: int
    slots: int = 1

    @property
    def of_a_cluster(self) -> bool:
        """Whether floors are a cluster's to hold, and slots alone are counted."""
        return self.memory_bytes == CLUSTER_BYTES

    def holds(self, other: "Capacity") -> bool:
        """Whether `other` fits into this."""
        return (
            self.cpu_m >= other.cpu_m
            and self.memory_bytes >= other.memory_bytes
            and self.slots >= other.slots
        )


def floor_of(limits: Limits) -> Capacity:
    """What an attempt under these limits reserves: its floors; nothing where it has none."""
    return Capacity(
        cpu_m=round((limits.cpu_floor or 0.0) * 1000),
        memory_bytes=limits.memory_floor_bytes or 0,
    )
