"""A node's speed at one time, by a short piece of fixed work."""

from .value import Value


class Spread(Value):
    """A rate over the repeats of one piece of work: lowest, median, highest."""

    low: float
    median: float
    high: float


class Probe(Value):
    """What a node did with fixed work. `at` is Unix seconds, `took_s` how long all of it took.

    `cpu_ops_s`: iterations of PBKDF2-HMAC-SHA256 per second on one core. `memory_mb_s`: megabytes
    (10^6) copied per second in memory larger than most caches. `disk_mb_s`: megabytes written and
    synchronised per second on the disk of pods; None: it could not be written to. `co_running`
    counts the attempts that ran on the node meanwhile: 0 unless someone asked for it nevertheless.
    """

    at: float
    took_s: float
    cpu_ops_s: Spread
    memory_mb_s: Spread
    disk_mb_s: Spread | None = None
    co_running: int = 0
