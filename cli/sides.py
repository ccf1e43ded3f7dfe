"""Addresses of results: a ledger, a folder of others' results, one experiment or entry of either.

infranoise-runs/headroom                 the only experiment of a run's folder
ledger.sqlite#headroom                   one of several experiments of a store
ledger.sqlite#headroom@claude-4          one entry of it
jobs/2026-11-20__12-00-00                results that another harness left; read, not kept
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Engine

from ..analysis.read_ledger import Study, read_study
from ..analysis.side import Side, side
from ..importers.kinds import detected
from ..importers.reading import Choices
from ..models.errors import DesignError, LedgerError
from ..models.ledger import reading
from ..models.ledger.store import open_store
from ..models.slug import slug
from .folder import LEDGER
from .importing import modes_of, take_in

IN_MEMORY = "sqlite://"


@dataclass(frozen=True, slots=True)
class Address:
    """Where results lie; "" for the only experiment, and for all entries."""

    source: str
    experiment: str = ""
    entry: str = ""

    @property
    def name(self) -> str:
        """A short name: the entry, else the experiment, else the last part of the path."""
        return self.entry or self.experiment or Path(self.source.split("://")[-1]).name


def address_of(text: str, store: str | None = None) -> Address:
    """An address; where `store` is given, the text names an entry of it, or EXPERIMENT@ENTRY.

    A path that exists is a path, whatever characters are in it.
    """
    if store is not None:
        experiment, at, entry = text.rpartition("@")
        known = (experiment, entry) if at else ("", text)
        return Address(store, *known)
    if "://" in text:
        source, _, rest = text.partition("#")
        experiment, _, entry = rest.partition("@")
        return Address(source, experiment, entry)
    for source, rest in _splits(text):
        if Path(source).exists():
            experiment, _, entry = rest.partition("@") if rest.startswith("#") else ("", "", rest)
            return Address(source, experiment.removeprefix("#"), entry.removeprefix("@"))
    raise DesignError(f"{text}: no such file or folder, and no database address")


def study_of(address: Address) -> Study:
    """What lies at an address: from a ledger, or read from others' results for the moment.

    Raises:
        DesignError: nothing of a known kind lies there.
        LedgerError: several experiments and none is named, or none of that name.
    """
    engine, name = opened(address)
    known = reading.experiments(engine)
    if not name and len(known) > 1:
        raise LedgerError(
            f"{address.source}: holds {len(known)} experiments; name one: "
            + ", ".join(f"{address.source}#{one}" for one in known[:5])
        )
    return read_study(engine, name or None)


def side_of(text: str, store: str | None = None) -> tuple[Side, Study]:
    """One side of a comparison, and the study behind it.

    Raises:
        DesignError, LedgerError: as `study_of`; or there is no such entry.
    """
    address = address_of(text, store)
    study = study_of(address)
    return side(study, address.name, address.entry), study


def sides_of(texts: Sequence[str], store: str | None = None) -> list[tuple[Side, Study]]:
    """Several sides; those whose short names are alike are named as they were asked for."""
    read = [side_of(text, store) for text in texts]
    names = Counter(side.name for side, _ in read)
    return [
        (side if names[side.name] == 1 else replace(side, name=text), study)
        for text, (side, study) in zip(texts, read, strict=True)
    ]


def opened(address: Address) -> tuple[Engine, str]:
    """The ledger at an address, and the experiment that is meant; "" for the only one."""
    if "://" in address.source:
        return open_store(address.source), address.experiment
    path = Path(address.source)
    ledger = path / LEDGER if path.is_dir() else path
    if ledger.is_file() and (path.is_dir() or ledger.suffix in (".sqlite", ".db")):
        return open_store(ledger), address.experiment
    reader = detected(path)
    engine, name = open_store(IN_MEMORY), slug(path.resolve().stem)
    brought = take_in(engine, name, reader, (path,), Choices(modes_of(reader.kind, None)))
    if not brought.trials:
        raise brought.faults[0]
    return engine, name


def _splits(text: str) -> list[tuple[str, str]]:
    """The text as (source, rest), the longest source first."""
    marks = [k for k, letter in enumerate(text) if letter in "#@"]
    return [(text, ""), *((text[:k], text[k:]) for k in reversed(marks))]
