"""Findings as one JSON document: what `analyze --json` prints and `report.json` holds.

| name | what |
|---|---|
| `format` | "infranoise.findings/1"; rises when a name changes its meaning |
| `opening` | the two sentences |
| `reference`, `policies` | the floor band; entries that are seeded scripts, not models |
| `bands` | per band: counts, infra rate, score three ways, lift, equivalence, split |
| `entries` | per entry: `entry`, `policy`, and its own `bands` |
| `heat_map`, `ranks`, `rank_changes` | per task, entry and band; places; pairs that change order |
| `trend`, `components`, `factors`, `noise_budget`, `ceiling`, `gaps`, `tie_groups`, `design`, `crosscheck` | the parts of statistics.md, section 11; null where refused |
| `refused` | part -> why the counts cannot give it |
| `run` | only from a ledger: causes, kills, nodes, clocks, configuration, versions |

Estimates, errors, intervals and rates are fractions; names that end in `_points` are percentage
points; times are seconds, sizes bytes.
"""  # noqa: E501

from .findings import Findings
from .json_values import Json, json_value
from .ranks import Curve
from .run_facts import RunFacts

FORMAT = "infranoise.findings/1"


def to_json(found: Findings, run: RunFacts | None = None) -> dict[str, Json]:
    """The document of the module's head; every value is plain JSON, none is NaN."""
    return {
        "format": FORMAT,
        "opening": list(found.opening),
        "reference": found.reference,
        "policies": list(found.policies),
        "bands": _bands(found),
        "entries": [_entry(curve, found.policies) for curve in found.entries],
        "heat_map": json_value(found.heat_map),
        "ranks": json_value(found.ranks),
        "rank_changes": json_value(found.rank_changes),
        "ceiling": json_value(found.ceiling),
        "gaps": json_value(found.gaps.pairs if found.gaps else None),
        "tie_groups": json_value(found.gaps.tie_groups if found.gaps else None),
        "refused": json_value(found.refused),
        **({"run": json_value(run)} if run else {}),
    }


def _bands(found: Findings) -> Json:
    rows: list[Json] = []
    for row in found.bands:
        plain = json_value(row)
        assert isinstance(plain, dict)
        rows.append(plain | {"split": json_value(found.splits.get(row.band))})
    return rows


def _entry(curve: Curve, policies: tuple[str, ...]) -> Json:
    return {
        "entry": curve.entry,
        "policy": curve.entry in policies,
        "bands": json_value(curve.bands),
    }
