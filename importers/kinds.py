"""The kinds of sources: by name, and by the look of a path."""

from pathlib import Path

from ..models.errors import DesignError
from ..models.source import Kind
from .harbor import HARBOR
from .inspect_log import INSPECT
from .reading import Importer
from .swe_bench import SWE_BENCH
from .table import table_importer
from .table_columns import TableColumns
from .terminal_bench import TERMINAL_BENCH

IN_ORDER = (INSPECT, HARBOR, TERMINAL_BENCH, SWE_BENCH)  # the surest look first


def importer(kind: Kind, columns: TableColumns | None = None) -> Importer:
    """The importer of a kind of source."""
    known = {one.kind: one for one in IN_ORDER}
    return table_importer(columns) if kind == "table" else known[kind]


def looks_like(path: Path) -> str:
    """The kind of source that a path looks like; "" where it looks like none."""
    return next((one.kind for one in IN_ORDER if path.exists() and one.knows(path)), "")


def detected(path: Path) -> Importer:
    """The importer of what lies at a path, by its look.

    Raises:
        DesignError: nothing there looks like results; or it is a table, which needs a map.
    """
    for one in IN_ORDER:
        if path.exists() and one.knows(path):
            return one
    if table_importer(None).knows(path):
        raise DesignError(
            f"{path}: is a table, and tables need a map of their columns; import it first: "
            f"infranoise import table {path} --column task=COLUMN,passed=COLUMN"
        )
    kinds = ", ".join(one.kind for one in IN_ORDER)
    raise DesignError(f"{path}: no ledger, and no results of a known kind ({kinds}, table)")
