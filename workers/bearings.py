"""What a node knows of itself at the moment: what it is, how fast it was, how its clock goes."""

from dataclasses import dataclass, field

from ..models.node import NodeProfile
from ..models.probe import Probe
from .clock_offset import ClockOffset
from .meters.load_watch import LoadWatch


@dataclass(slots=True)
class Bearings:
    """Renewed from time to time; what was not looked at is None. Fields are set as a whole."""

    profile: NodeProfile | None = None
    offset: ClockOffset | None = None
    probe: Probe | None = None
    watch: LoadWatch = field(default_factory=LoadWatch)

    @property
    def profile_hash(self) -> str:
        """The hash of the profile; "" where the node was not looked at."""
        return self.profile.profile_hash if self.profile else ""
