"""Findings as flat tables, one per chapter, for CSV and for other tools."""

from collections.abc import Iterable, Mapping, Sequence

from .components import Components
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
        **_of_model(found),
        **_of_trust(found),
        **(_of_run(run) if run else {}),
    }
    made = {name: [_flat(json_value(row)) for row in rows] for name, rows in chapters.items()}
    return {name: _without_stems(rows) for name, rows in made.items() if rows}


def columns(rows: Sequence[Row]) -> list[str]:
    """The names of all columns of a table, in the order in which rows bring them."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _of_model(found: Findings) -> dict[str, Iterable[object]]:
    """Where the variance comes from."""
    factors = found.attribution.factors if found.attribution else ()
    apart, same, new = found.heterogeneity, found.noise_budget, found.noise_budget_new
    return {
        "components": _components(found.components) if found.components else (),
        "factors": [
            {name: value for name, value in _fields(row).items() if name != "levels"}
            for row in factors
        ],
        "factor_levels": [
            {"factor": row.factor, "vs": row.reference, **_fields(level)}
            for row in factors
            for level in row.levels
        ],
        "noise_budget": same.lines if same else (),
        "noise_budget_new": new.lines if new else (),
        "entry_by_band": apart.differences if apart else (),
        "rank_flips": apart.flips if apart else (),
    }


def _components(found: Components) -> list[dict[str, Json]]:
    """One row per effect, and the two sums."""
    finite = found.finite
    rows: list[dict[str, Json]] = [
        {
            "effect": effect,
            "plug_in": value,
            "corrected": finite.corrected[effect] if finite.corrected else None,
            "super": found.super[effect] if found.super else None,
        }
        for effect, value in finite.plug_in.items()
    ]
    return [
        *rows,
        {"effect": "within", "corrected": finite.within},
        {"effect": "total", "corrected": finite.total},
    ]


def _of_trust(found: Findings) -> dict[str, Iterable[object]]:
    """Trends, other methods, the design, and arms that should not differ."""
    checks, design = found.crosscheck, found.design
    return {
        "trend": [found.trend] if found.trend else (),
        "crosscheck": [
            {
                "band": band,
                "permutation_p": checks.permutation_p[band],
                "exact_p": checks.exact_p[band],
                "cmh": checks.cmh[band],
                "conditional_logit": checks.conditional[band],
                "mixed_model": checks.glmm.pa_lift.get(band) if checks.glmm else None,
                "agree": agree,
            }
            for band, agree in checks.agree.items()
        ]
        if checks
        else (),
        "design": [
            {
                "factor": factor,
                "gvif": inflation,
                "overlap": design.diagnosis.overlap_by_factor[factor],
                "waves": design.diagnosis.waves.get(factor),
                "aliased": factor in design.diagnosis.aliased,
            }
            for factor, inflation in design.diagnosis.gvif.items()
        ]
        if design
        else (),
        "balance": design.balance if design else (),
        "aa": found.arms.tests if found.arms else (),
    }


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
        "warnings": run.warned,
        "hosts": run.hosts,
        "deviations": run.deviations,
        "clocks": run.clocks,
        "replays": run.replays,
        "stopped": run.stopped["contrasts"] if run.stopped else (),
    }


def _fields(value: object) -> dict[str, Json]:
    plain = json_value(value)
    assert isinstance(plain, dict)
    return plain


def _without_stems(rows: Sequence[Row]) -> list[Row]:
    """A value that is absent in one row and has parts in another leaves no column of its own."""
    stems = {name.rpartition(".")[0] for name in columns(rows)}
    return [{name: value for name, value in row.items() if name not in stems} for row in rows]


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
