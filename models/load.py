"""How busy a node was at one moment."""

from .value import Value


class Load(Value):
    """Readings of a whole node. None: this kernel does not tell.

    Pressure (PSI) is the share of the last 10 seconds, in percent, in which some task waited for
    the resource. `steal_s` and `system_oom_kills` count since boot: take differences.
    `load1` is the mean number of tasks that ran or waited over about a minute.
    """

    load1: float | None = None
    psi_cpu_some10: float | None = None
    psi_mem_some10: float | None = None
    psi_mem_full10: float | None = None
    psi_io_some10: float | None = None
    psi_io_full10: float | None = None
    steal_s: float | None = None
    mem_available_bytes: int | None = None
    swap_used_bytes: int | None = None
    system_oom_kills: int | None = None
