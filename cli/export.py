"""`export`: attempts as files for other tools."""

import json
from pathlib import Path
from typing import cast

from ..analysis.export import FORMATS, Format, of_entry, write_attempts
from ..analysis.read_ledger import read_attempts
from ..models.errors import DesignError
from ..models.ledger import reading
from .folder import cannot_write
from .sides import address_of, opened

SUFFIXES = {".parquet": "parquet", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def export_results(
    source: str, path: Path, form: str | None, *, accepted: bool, as_json: bool
) -> int:
    """Write attempts to a file, or a folder for HiBayES; returns the exit code.

    Raises:
        DesignError: no such format, or none can be told from the file's name.
    """
    chosen = form or SUFFIXES.get(path.suffix.lower())
    if chosen not in FORMATS:
        raise DesignError(
            f"--format {chosen or '?'}: say one of {', '.join(FORMATS)}, or name a file that ends "
            f"in {', '.join(SUFFIXES)}"
        )
    address = address_of(source)
    engine, name = opened(address)
    attempts = read_attempts(engine, name or None)
    if address.entry:
        attempts = of_entry(attempts, address.entry)
    experiment = name or reading.experiments(engine)[0]
    try:
        rows = write_attempts(attempts, experiment, cast("Format", chosen), path, accepted=accepted)
    except OSError as error:
        raise cannot_write(path, error) from error
    if as_json:
        print(json.dumps({"path": str(path), "format": chosen, "rows": rows}))
    else:
        print(f"{rows:,} rows in {path}")
    return 0
