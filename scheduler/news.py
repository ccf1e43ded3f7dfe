"""What is worth a line in a scheduler's log: nodes and experiments that change, attempts lost."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .happened import Happened
from .service import Service


@dataclass(slots=True)
class News:
    """Compares what was with what is, and tells the difference."""

    say: Callable[..., None]
    _nodes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    _experiments: frozenset[str] = frozenset()
    _left_out: frozenset[str] = frozenset()
    _home: Counter[str] = field(default_factory=Counter)

    def happened(self, event: Happened) -> None:
        """An attempt came home; only what infrastructure ended is told."""
        outcome = event.ingested.outcome
        self._home[event.experiment] += 1
        if outcome.verdict == "infra_error" and event.record is None:
            self.say(
                "attempt lost",
                experiment=event.experiment,
                attempt=event.ingested.attempt,
                trial=event.key.text,
                cause=outcome.cause,
            )

    def look(self, service: Service) -> None:
        """Tell what changed since the last look."""
        for name in service.windows.keys() - self._experiments:
            self.say("takes up an experiment", experiment=name)
        for name in service.left_out.keys() - self._left_out:
            self.say("leaves an experiment out", experiment=name, because=service.left_out[name])
        self._left_out = frozenset(service.left_out)
        for name in self._experiments - service.windows.keys():
            self.say("lets an experiment go", experiment=name, attempts=self._home.pop(name, 0))
        self._experiments = frozenset(service.windows)
        now = service.roster.conditions
        for node, (state, because) in now.items():
            if self._nodes.get(node) != (state, because):
                self.say("node", node=node, state=state, because=because)
        for node in self._nodes.keys() - now.keys():
            self.say("node", node=node, state="forgotten")
        self._nodes = now
