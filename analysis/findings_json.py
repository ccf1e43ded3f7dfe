"""Findings as one JSON document: what `analyze --json` prints and `report.json` holds.

| name | what |
|---|---|
| `format` | "infranoise.findings/1"; rises when a name changes its meaning |
| `opening` | the two sentences |
| `reference`, `policies` | the floor band; entries that are seeded scripts, not models |
| `bands` | per band: counts, infra rate, score three ways, lift, equivalence, split |
| `entries` | per entry: `entry`, `policy`, and its own `bands` |
| `heat_map`, `ranks`, `rank_changes` | per task, entry and band; places; pairs that change order |
| `trend`, `components`, `heterogeneity` | trends over bands; variance components; entry by band |
| `factors`, `attribution` | per factor: effects, component, shares; what the model stands on |
| `noise_budget`, `noise_budget_new` | lines by source, on the same and on new tasks |
| `noise_budget_total` | the design that both are for, and the SD of the score in points |
| `runs` | what the trials of a wave share |
| `ceiling` | the ceiling to pin, and what every ceiling showed |
| `gaps`, `ranking`, `tie_groups` | pairs of entries; entries, best first; ties |
| `design` | aliasing, inflation, overlap, waves, detectable effect, balance |
| `crosscheck` | the other methods on the last band's lift, and on every band's under `bands` |
| `aa` | of an A/A run: whether its identical arms look alike; else null |
| `refused` | part -> why the counts cannot give it; such a part is null |
| `run` | only from a ledger: causes, kills, nodes, clocks, configuration, versions |

Estimates, errors, intervals and rates are fractions; names that end in `_points` are percentage
points; times are seconds, sizes bytes. Intervals are lists [lo, hi]. No number is NaN.
"""

from .budget import NoiseBudget
from .cmh import Cmh
from .crosscheck import Crosscheck
from .design_report import DesignReport
from .findings import Findings
from .json_values import Json, json_value
from .ranks import Curve
from .run_facts import RunFacts

FORMAT = "infranoise.findings/1"


def to_json(found: Findings, run: RunFacts | None = None) -> dict[str, Json]:
    """The document of the module's head; every value is plain JSON, none is NaN."""
    same = found.noise_budget
    return {
        "format": FORMAT,
        "opening": list(found.opening),
        "reference": found.reference,
        "policies": list(found.policies),
        "bands": [
            _object(row) | {"split": json_value(found.splits.get(row.band))} for row in found.bands
        ],
        "entries": [_entry(curve, found.policies) for curve in found.entries],
        "heat_map": json_value(found.heat_map),
        "ranks": json_value(found.ranks),
        "rank_changes": json_value(found.rank_changes),
        "trend": json_value(found.trend),
        "components": json_value(found.components),
        "heterogeneity": json_value(found.heterogeneity),
        **_attribution(found),
        "runs": json_value(found.runs),
        "noise_budget": json_value(same.lines if same else None),
        "noise_budget_new": json_value(
            found.noise_budget_new.lines if found.noise_budget_new else None
        ),
        "noise_budget_total": _total(same, found.noise_budget_new),
        "ceiling": json_value(found.ceiling),
        "gaps": json_value(found.gaps.pairs if found.gaps else None),
        "ranking": json_value(found.gaps.ranked if found.gaps else None),
        "tie_groups": json_value(found.gaps.tie_groups if found.gaps else None),
        "design": _design(found.design),
        "crosscheck": _crosscheck(found.crosscheck),
        "aa": json_value(found.arms),
        "refused": json_value(found.refused),
        **({"run": json_value(run)} if run else {}),
    }


def _object(value: object) -> dict[str, Json]:
    plain = json_value(value)
    assert isinstance(plain, dict)
    return plain


def _entry(curve: Curve, policies: tuple[str, ...]) -> Json:
    return {
        "entry": curve.entry,
        "policy": curve.entry in policies,
        "bands": json_value(curve.bands),
    }


def _attribution(found: Findings) -> dict[str, Json]:
    if found.attribution is None:
        return {"factors": None, "attribution": None}
    whole = _object(found.attribution)
    return {"factors": whole.pop("factors"), "attribution": whole}


def _total(same: NoiseBudget | None, new: NoiseBudget | None) -> Json:
    if same is None:
        return None
    return {
        "design": json_value(same.design),
        "sd_points": same.sd_points,
        "sd_points_new": new.sd_points if new else None,
    }


def _design(found: DesignReport | None) -> Json:
    if found is None:
        return None
    return _object(found.diagnosis) | {
        "mde": json_value(found.mde),
        "balance": json_value(found.balance),
        "observed": list(found.observed),
    }


def _crosscheck(found: Crosscheck | None) -> Json:
    """The last band's answers under the names of the whole, every band's under `bands`.

    `agree` is true where the methods agree in every band.
    """
    if found is None:
        return None
    rows: list[dict[str, Json]] = [
        {
            "band": band,
            "permutation_p": found.permutation_p[band],
            "exact_p": found.exact_p[band],
            "cmh": _with_or(found.cmh[band]),
            "conditional_logit": json_value(found.conditional[band]),
            "agree": found.agree[band],
            "sentence": found.sentences[band],
        }
        for band in found.agree
    ]
    last = rows[-1]
    return {
        "vs": found.vs,
        **{name: last[name] for name in ("band", "permutation_p", "exact_p", "cmh")},
        "conditional_logit": json_value(found.conditional_joint),
        "glmm": json_value(found.glmm),
        "agree": all(found.agree.values()),
        "bands": [*rows],
        "refused": found.refused,
    }


def _with_or(row: Cmh) -> Json:
    """As the dataclass, but an odds ratio is `or`, a word that Python keeps for itself."""
    plain = _object(row)
    return {("or" if name == "odds_ratio" else name): value for name, value in plain.items()}
