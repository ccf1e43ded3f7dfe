"""Findings as flat tables, one per chapter, for CSV and for other tools."""

from collections.abc import Iterable, Mapping, Sequence

from .findings import Findings
from .json_values import Json, json_value
from .run_facts import RunFacts

type Row = dict[str, str | int | float | bool | None]


def tables(found: Findings, run: RunFacts | None = None) -> dict[str, list[Row]]:
    """Table name -> rows. Nested names are joined by dots (`lift.se_same`), an interval becomes
    `.lo` and `.hi`; units as in `findings_json`. Tables without a row are left out."""
    chapters: dict[str, Iterable[object]] = {
        "bands": found.bands,
        "splits": found.splits.values(),
        "entries": (
            {"entry": curve.entry, **_fields(row)} for curve in found.entries for row in curve.bands
        ),
        "heat_map": found.heat_map,
        "ranks": found.ranks,
        "rank_changes": found.rank_changes,
        "ceilings": found.ceiling.per_ceiling if found.ceiling else (),
        "gaps": found.gaps.pairs if found.gaps else (),
        **(_of_run(run) if run else {}),
    }
    made = {name: [_flat(json_value(row)) for row in rows] for name, rows in chapters.items()}
    return {name: rows for name, rows in made.items() if rows}


def columns(rows: Sequence[Row]) -> list[str]:
    """The names of all columns of a table, in the order in which rows bring them."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _of_run(run: RunFacts) -> dict[str, Iterable[object]]:
    return {
        "causes": run.causes,
        "killed_then_passed": (
            {"task": row.task, "entry": row.entry, **_fields(pair)}
            for row in run.killed_then_passed
            for pair in row.pairs
        ),
        "kills": run.kills,
        "nodes": run.nodes,
        "settings": run.settings,
        "readings": run.readings,
        "deviations": run.deviations,
        "clocks": run.clocks,
    }


def _fields(value: object) -> dict[str, Json]:
    plain = json_value(value)
    assert isinstance(plain, dict)
    return plain


def _flat(value: Json, name: str = "") -> Row:
    """An object's leaves by dotted name; lists of two numbers as bounds, other lists as text."""
    match value:
        case Mapping():
            parts = (_flat(item, f"{name}.{key}" if name else key) for key, item in value.items())
            return {leaf: item for part in parts for leaf, item in part.items()}
        case [float() | int() as lo, float() | int() as hi]:
            return {f"{name}.lo": lo, f"{name}.hi": hi}
        case list():
            return {name: " | ".join(map(str, value))}
        case _:
            return {name: value}
