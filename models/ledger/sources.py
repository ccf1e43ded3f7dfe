"""Sources: what was imported into an experiment, and what it cannot tell."""

import time

from sqlalchemy import Engine, delete, insert, select

from ..source import Source
from .tables import SOURCE
from .writing import writing


def write_source(engine: Engine, experiment: str, source: Source) -> None:
    """Write down that a tree of results was imported now; the same tree's last row is replaced."""
    row = {
        "experiment": experiment,
        "kind": source.kind,
        "path": source.path,
        "content_hash": source.content_hash,
        "imported_at": time.time(),
        "document": source.model_dump_json(),
    }
    same = (
        (SOURCE.c.experiment == experiment)
        & (SOURCE.c.kind == source.kind)
        & (SOURCE.c.path == source.path)
    )
    with writing(engine) as connection:
        connection.execute(delete(SOURCE).where(same))
        connection.execute(insert(SOURCE), row)


def sources(engine: Engine, experiment: str) -> tuple[Source, ...]:
    """What was imported into an experiment, in order; nothing where it was run here."""
    query = select(SOURCE.c.document).where(SOURCE.c.experiment == experiment).order_by(SOURCE.c.id)
    with engine.connect() as connection:
        return tuple(Source.model_validate_json(text) for text in connection.scalars(query))
