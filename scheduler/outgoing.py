"""What goes out: owed trials to nodes that have room, each under a lease of its own."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from sqlalchemy import Engine

from ..models.ledger.attempts import place_over
from .envelope import attempt_envelope
from .leases import Grant, Leases
from .placement import Placed, place
from .rooms import rooms
from .roster import Roster
from .unfit import Unfit
from .window import Window, attempt_of


@dataclass(slots=True)
class Outgoing:
    """The way out of one scheduler.

    Args:
        windows: of the experiments that it works on, by name.
        unfit: nodes that are passed over.
        fence: the lead under which it writes; None where no other scheduler can be.
    """

    engine: Engine
    leases: Leases
    roster: Roster
    windows: Mapping[str, Window]
    unfit: Unfit
    fence: int | None
    random: Random = field(default_factory=Random)

    def send(self) -> None:
        """Send what may start now."""
        active = [w for w in self.windows.values() if not (w.finished or w.paused)]
        for window in active:
            window.top_up(self.fence)
        now = time.monotonic()
        lines = [window.line(now) for window in active]
        if not any(line.waiting for line in lines):
            return
        able = rooms(
            self.leases.free(),
            self.roster.known,
            self.windows.values(),
            lambda node: self.unfit.passes_over(node, now),
        )
        self._grant(place(lines, able, self.random, now))

    def _grant(self, placed: Sequence[Placed]) -> None:
        trials = [self.windows[one.experiment].ready[one.want.trial] for one in placed]
        wants = [
            Grant(attempt_of(trial), one.node, one.want.floor) for trial, one in zip(trials, placed)
        ]
        granted: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
        for one, fence in zip(placed, self.leases.grant(wants)):
            if fence:
                granted[one.experiment].append((one.want.trial, one.node, fence))
        for name, going in granted.items():
            self._send_of(self.windows[name], going)

    def _send_of(self, window: Window, granted: Sequence[tuple[str, str, int]]) -> None:
        """Send trials of an experiment, each with its node and fence."""
        nodes = [node for _, node, _ in granted]
        going = window.went_out([(trial, node) for trial, node, _ in granted])
        place_over(self.engine, window.experiment.name, zip(nodes, going), fence=self.fence)
        now = time.time()
        fences = [fence for _, _, fence in granted]
        messages = [window.message(trial, fence, now) for trial, fence in zip(going, fences)]
        self.leases.push((node, attempt_envelope(node, m)) for node, m in zip(nodes, messages))
