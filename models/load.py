"""How busy a node was at one moment."""

from .value import Value

FALLING = ("mem_available_bytes",)  # less of it is worse


class Load(Value):
    """Readings of a whole node. None: this kernel does not tell.

    Pressure (PSI) is the share of the last 10 seconds, in percent, in which some task waited for
    the resource. `steal_s`, `busy_s` (of all CPUs), `swapped_pages` (in and out),
    `thermal_throttles` (of all cores) and `system_oom_kills` count since boot: take differences.
    `load1` is the mean number of tasks that ran or waited over about a minute.
    """

    load1: float | None = None
    psi_cpu_some10: float | None = None
    psi_mem_some10: float | None = None
    psi_mem_full10: float | None = None
    psi_io_some10: float | None = None
    psi_io_full10: float | None = None
    steal_s: float | None = None
    busy_s: float | None = None
    mem_available_bytes: int | None = None
    swap_used_bytes: int | None = None
    swapped_pages: int | None = None
    thermal_throttles: int | None = None
    system_oom_kills: int | None = None

    def worst(self, other: "Load") -> "Load":
        """Field by field the busier of two readings; a field that one does not tell is the
        other's."""
        merged = {}
        for name in Load.model_fields:
            told = [v for v in (getattr(self, name), getattr(other, name)) if v is not None]
            merged[name] = None if not told else min(told) if name in FALLING else max(told)
        return Load.model_construct(**merged)
