"""What an experiment's trials want of a node: pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..models.egress import FACTOR
from ..models.experiment import Experiment
from ..models.lease.capacity import Capacity, floor_of
from ..models.ledger.attempts import Owed, Replay
from ..models.link import link_of
from ..models.task import Task
from ..models.trial import CellKey
from .orders import band_of
from .placement import Want


@dataclass(slots=True)
class Wants:
    """The wants of one experiment's trials.

    Args:
        concurrency: trials in flight on a node that a wave asks for, by its number.
    """

    experiment: Experiment
    tasks: Mapping[str, Task]
    concurrency: Mapping[int, int]
    _providers: Mapping[str, str] = field(init=False)
    _floors: dict[tuple[str, str, str], Capacity] = field(default_factory=dict)
    _links: dict[tuple[str, bool], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._providers = _providers_of(self.experiment)

    def of(self, trial: Owed, cell: CellKey) -> Want:
        """What a trial's next attempt wants."""
        band = trial.replay.ceiling if trial.replay else cell.band
        return Want(
            trial.id,
            band,
            self._floor(cell, band, trial.replay),
            self.concurrency.get(trial.wave),
            runtime=self.experiment.pods.runtime,
            link=self._link(cell),
            wave=trial.wave,
            provider=self._providers.get(cell.entry, ""),
        )

    def _floor(self, cell: CellKey, name: str, replay: Replay | None) -> Capacity:
        known = self._floors.get((cell.task, cell.band, name))
        if known is None:
            spec = self.tasks[cell.task].spec.or_default(self.experiment.pods.default_spec)
            band = band_of(self.experiment, cell.band, replay)
            known = self._floors[cell.task, cell.band, name] = floor_of(band.limits(spec))
        return known

    def _link(self, cell: CellKey) -> str:
        capped = any(name == FACTOR for name, _ in cell.levels)
        known = self._links.get((cell.task, capped))
        if known is None:
            network = self.experiment.pods.network
            known = link_of(self.tasks[cell.task], network, capped=capped)
            self._links[cell.task, capped] = known
        return known


def _providers_of(experiment: Experiment) -> dict[str, str]:
    """The provider of each entry whose model has one, by the entry's name."""
    served = {entry.name: experiment.served(entry) for entry in experiment.entries}
    return {name: one.provider for name, one in served.items() if one is not None}
