"""`watch`: a fleet as it works. Looking changes nothing; Ctrl-C ends the looking alone."""

import json
import threading
import time
from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text
from sqlalchemy import Engine

from ..models.errors import BrokerError, StoreAway
from ..models.ledger import live
from .fleet_text import (
    experiment_text,
    experiments_table,
    fleet_line,
    fleet_text,
    nodes_table,
    summary,
)
from .fleet_view import ExperimentView, Fleet, look_at_experiment, look_at_fleet, open_ledger
from .status import experiment_json, fleet_json, standing_json
from .stopping import ALL_INFRA, INTERRUPTED, stop_on_signals

EVERY_S = 1.0
MOST_OF_THE_TIME = 10.0  # a look that takes long is followed by a wait of so many times as long
LINE_EVERY_S = 10.0


class Watch:
    """Looks again and again, until the experiment is done or someone stops it."""

    def __init__(self, store: str, broker: str | None, flower: str | None, name: str | None):
        self._engine: Engine = open_ledger(store)
        self._broker, self._flower, self._name = broker, flower, name
        self._fleet: Fleet | None = None
        self.view: ExperimentView | None = None
        self._standings: tuple[live.Standing, ...] = ()
        self._trouble = ""

    @property
    def done(self) -> bool:
        """Whether the experiment that is watched has all its outcomes, or is cancelled."""
        return self.view is not None and self.view.standing.word in ("done", "cancelled")

    def look(self) -> None:
        """Look once. A server that is away is shown as that; the last look stays."""
        try:
            self._fleet = look_at_fleet(self._broker) if self._broker else None
            if self._name:
                self.view = look_at_experiment(self._engine, self._name, self._fleet)
            else:
                self._standings = live.standings(self._engine)
            self._trouble = ""
        except (BrokerError, StoreAway) as error:
            self._trouble = str(error)

    def looks(self, stop: threading.Event) -> Iterator[None]:
        """Look until done or stopped, seldom enough to cost the servers little."""
        while not stop.is_set():
            began = time.monotonic()
            self.look()
            yield
            if self.done:
                return
            stop.wait(max(EVERY_S, MOST_OF_THE_TIME * (time.monotonic() - began)))

    def text(self) -> RenderableType:
        """What is to be seen."""
        parts: list[RenderableType] = []
        if self.view:
            parts.append(experiment_text(self.view))
        elif self._standings:
            parts.append(experiments_table(self._standings))
        if self._fleet:
            parts += [nodes_table(self._fleet.nodes), fleet_text(self._fleet)]
        if self._flower:
            parts.append(Text(f"Flower: {self._flower}"))
        if self._trouble:
            parts.append(Text(self._trouble, style="red"))
        return Group(*parts)

    def line(self) -> str:
        """The same in one line."""
        if self._trouble or self.view:
            return self._trouble or (_told(self.view) if self.view else "")
        told = [f"{one.name}: {one.word} {one.n:,}/{one.planned:,}" for one in self._standings]
        return " · ".join([*told, *([fleet_line(self._fleet)] if self._fleet else [])])

    def document(self) -> dict[str, object]:
        """The same as a document."""
        seen = (
            experiment_json(self.view)
            if self.view
            else {"experiments": [standing_json(one) for one in self._standings]}
        )
        return seen | {"fleet": self._fleet and fleet_json(self._fleet), "trouble": self._trouble}


def _told(view: ExperimentView) -> str:
    return " · ".join((summary(view), *(f"waits: {why}" for why in view.waits)))


def watch(
    store: str, broker: str | None, flower: str | None, name: str | None, *, as_json: bool
) -> int:
    """Show it until it is done or Ctrl-C; returns 0 either way, 3 if all were infra errors."""
    code = follow(Watch(store, broker, flower, name), as_json=as_json)
    return 0 if code == INTERRUPTED else code


def follow(seen: Watch, *, as_json: bool) -> int:
    """Show what is seen until it is done; returns the exit code, 130 if stopped before."""
    console = Console()
    with stop_on_signals() as stop:
        if as_json:
            for _ in seen.looks(stop):
                print(json.dumps(seen.document()), flush=True)
        elif console.is_terminal:
            with Live(console=console, auto_refresh=False) as shown:
                for _ in seen.looks(stop):
                    shown.update(seen.text(), refresh=True)
        else:
            _in_lines(console, seen, stop)
    if not seen.done:
        return INTERRUPTED
    assert seen.view is not None
    one = seen.view.standing
    return ALL_INFRA if one.n and one.n == one.infra_errors else 0


def _in_lines(console: Console, seen: Watch, stop: threading.Event) -> None:
    last, at = "", 0.0
    for _ in seen.looks(stop):
        line = seen.line()
        if line != last and (seen.done or time.monotonic() - at >= LINE_EVERY_S):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
            last, at = line, time.monotonic()
