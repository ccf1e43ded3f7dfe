"""Keeping a node's bearings: clock, profile, what it reaches, how fast it is; and telling home.

The speed is probed when no attempt runs, unless someone asks for it nevertheless: the work would
be in the way of a trial, and the trial in the way of the figure.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from ..models.node import NodeProfile
from .bearings import Bearings
from .clock_offset import measured
from .meters.engine_told import ask_engine
from .node import node_profile
from .probe import probe
from .reach import reachable
from .slots import Slots

CLOCK_EVERY_S = 60.0
QUIET_WITHIN_S = 5.0
log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Tending:
    """Renews what a worker knows of its node.

    Args:
        disk: where pods write.
        every_s: between probes of the speed and looks at the node; 0: never, but when asked.
        named: hosts that are to be reached, `host:port`.
        runtimes: versions of what runs pods, beside the engine's own.
        ask_time: the scheduler's clock, Unix seconds.
        tell: takes facts for home, by name.
    """

    bearings: Bearings
    slots: Slots
    disk: Path
    every_s: float
    named: tuple[str, ...] = ()
    runtimes: Mapping[str, str] = field(default_factory=dict)
    ask_time: Callable[[], float]
    tell: Callable[[Mapping[str, object]], None]
    _due: float = 0.0

    def look(self) -> dict[str, object]:
        """Look at the node, and probe it if that is wanted at all; facts for home."""
        if self.every_s <= 0:
            self.bearings.profile = self._profile(reach=False)
            return self._facts()
        with ThreadPoolExecutor(1) as pool:  # answers of the network are waited for meanwhile
            profile = pool.submit(self._profile, reach=True)
            self._probe(beside=False)
            self.bearings.profile = profile.result()
        self._due = time.monotonic() + self.every_s
        return self._facts()

    def go_on(self) -> None:
        """Keep the bearings from now on, in a thread of its own."""
        threading.Thread(target=self._keep, daemon=True, name="bearings").start()

    def asked(self, id_: str, *, beside: bool) -> None:
        """Probe now because somebody asked, in a thread of its own, and tell him.

        Args:
            beside: also where attempts run, beside them.
        """

        def go() -> None:
            done = self._probe(beside=beside)
            running = len(self.slots.running())
            why = "" if done else f"{running} attempts are under way on it"
            self._tell(self._facts() | {"asked": {"id": id_, "why": why}})

        threading.Thread(target=go, daemon=True, name=f"probe {id_}").start()

    def _keep(self) -> None:
        while True:
            self._measure_clock()
            if self._is_due() and self._probe(beside=False):
                self.bearings.profile = self._profile(reach=True)
                self._due = time.monotonic() + self.every_s
                self._tell(self._facts())
            time.sleep(CLOCK_EVERY_S)

    def _is_due(self) -> bool:
        if self.every_s <= 0 or time.monotonic() < self._due:
            return False
        return not self.slots.running()

    def _measure_clock(self) -> None:
        try:
            self.bearings.offset = measured(self.ask_time)
        except OSError as error:
            log.info("the scheduler's time could not be asked: %s", error)

    def _probe(self, *, beside: bool) -> bool:
        with self.slots.alone(within_s=0.0 if beside else QUIET_WITHIN_S) as alone:
            if not (alone or beside):
                return False
            self.bearings.probe = probe(self.disk, co_running=len(self.slots.running()))
        return True

    def _profile(self, *, reach: bool) -> NodeProfile:
        engine = ask_engine()
        versions = dict(self.runtimes) | (engine.versions if engine else {})
        reached = reachable(engine.registries if engine else (), self.named) if reach else {}
        return node_profile(versions, disk=self.disk, reachable=reached)

    def _facts(self) -> dict[str, object]:
        profile, last = self.bearings.profile, self.bearings.probe
        return {
            "profile": profile.model_dump_json() if profile else None,
            "probe": last.model_dump(mode="json") if last else None,
        }

    def _tell(self, facts: Mapping[str, object]) -> None:
        try:
            self.tell(facts)
        except OSError as error:
            log.warning("home could not be told of this node: %s", error)
