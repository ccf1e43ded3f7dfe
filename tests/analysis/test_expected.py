"""The reference values of R, read out of `infranoise analyze --json` wherever they stand in it.

`PRINTED` says which number of the document each value is; `CALLED` names the public function of
the closed forms, which belong to no table. Every value of a table comes out of public functions
too: see the tests of each estimator.
"""

import json
import math
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from infranoise.analysis.credible import credible_gap
from infranoise.analysis.multiplicity import benjamini_hochberg, holm
from infranoise.analysis.power import (
    Design,
    contrast_power,
    detectable_effect,
    samples_for_equivalence,
    two_proportion_size,
)
from infranoise.analysis.sequential import half_width, tuned_rho2
from infranoise.analysis.split import split_bounds
from infranoise.cli.analyze import analyze

GOLDEN = Path(__file__).parents[1] / "golden"
R = {row["id"]: row for row in json.loads((GOLDEN / "effects.json").read_text())}
COUNTS = "task=t,entry=m,band=b,n=n,passes=s,infra_errors=err"
TRIALS = "task=t,entry=m,band=b,passed=y,infra_error=err"
OBSERVED = ("node", "hour", "conc")


@dataclass(frozen=True)
class Command:
    """One `analyze TABLE --json`; `only` keeps the rows of one band, as a table of its own."""

    table: str
    columns: str
    reference: str
    factors: tuple[str, ...] = ()
    only: tuple[str, str] | None = None

    def file(self, folder: Path) -> Path:
        if self.only is None:
            return GOLDEN / self.table
        head, *rows = (GOLDEN / self.table).read_text().splitlines()
        at = head.split(",").index(self.only[0])
        kept = [row for row in rows if row.split(",")[at] == self.only[1]]
        (folder / "part.csv").write_text("\n".join([head, *kept]) + "\n")
        return folder / "part.csv"


COMMANDS = {
    "grid": Command("balanced_grid.csv", COUNTS, "0"),
    "floor": Command("balanced_grid.csv", COUNTS, "0", only=("b", "0")),
    "trials": Command("observed_trials.csv", TRIALS, "0", OBSERVED),
    "assigned": Command(
        "observed_trials.csv",
        TRIALS,
        "0",
        ("node", "hour:assigned=trial", "conc:assigned=wave:batch"),
    ),
    "study": Command("article.csv", "band=band,n=n,passes=success,infra_errors=infra", "1x"),
}


def lift(band: str) -> dict[str, str]:
    names = {
        "est": "est",
        "se_naive": "se_naive",
        "se_same": "se_fixed",
        "se_new": "se_cluster",
        "p_naive": "p_naive_chisq",
        "p_same": "p_fixed",
        "p_new": "p_cluster_t39",
        "tau2": "tau2",
        "ci_new[0]": "ci_cluster_lo",
        "ci_new[1]": "ci_cluster_hi",
    }
    return {f"b{band}.{r}": f"bands[{band}].lift.{ours}" for ours, r in names.items()}


def effect(name: str) -> dict[str, str]:
    """R's names of effects, such as hour3, and where each stands."""
    factors = {"b": "band", "node": "node", "hour": "hour", "conc": "conc"}
    return {
        r: f"factors[{factors[r.rstrip('0123456789')]}].levels[{r[-1]}].{name}"
        for r in R["C05"]["expected"]
    }


TERMS = {"t": "task", "m": "entry", "b": "band", "t:m": "task:entry", "t:b": "task:band",
         "m:b": "entry:band", "t:m:b": "task:entry:band"}  # fmt: skip
PRINTED: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "C01": (
        "grid",
        {f"plug.{r}": f"components.finite.plug_in.{ours}" for r, ours in TERMS.items()}
        | {f"phi.{r}": f"components.finite.corrected.{ours}" for r, ours in TERMS.items()}
        | {
            "within": "components.finite.within",
            "vbar": "components.finite.noise",
            "total_trial_variance_identity": "components.finite.total",
        },
    ),
    "C02b": (
        "floor",
        {
            "t": "components.super.task",
            "m": "components.super.entry",
            "tm": "components.super.task:entry",
            "residual": "components.super.residual",
        },
    ),
    "C03": ("grid", lift("3") | lift("5")),
    "C04": (
        "grid",
        {
            r: f"crosscheck.cmh.{r}"
            for r in ("stat", "p", "or", "stat_cc", "p_cc", "informative_strata")
        },
    ),
    "C05": ("trials", effect("est")),
    "C05b": ("trials", effect("se_same")),
    "C05d": (
        "trials",
        effect("se_assigned")
        | {"N": "attribution.trials", "K": "attribution.parameters", "G": "attribution.tasks"},
    ),
    "C08": (
        "study",
        {
            "p_infra_1x_3x": "bands[3x].infra_lift.p_naive",
            "p_score_1x_3x": "bands[3x].lift.p_naive",
            "p_score_1x_unc": "bands[uncapped].lift.p_naive",
            "ca_infra": "trend.infra_cochran_armitage",
            "ca_infra_p": "trend.infra_cochran_armitage_p",
            "ca_score": "trend.score_cochran_armitage",
            "ca_score_p": "trend.score_cochran_armitage_p",
        },
    ),
    "C08b": (
        "study",
        {
            "wilson_lo": "bands[3x].infra_rate.lo",
            "wilson_hi": "bands[3x].infra_rate.hi",
            "cp_lo": "bands[3x].infra_rate_exact[0]",
            "cp_hi": "bands[3x].infra_rate_exact[1]",
            "fisher_p": "bands[3x].infra_lift.p_fisher",
        },
    ),
    "C10": (
        "grid",
        {
            "p_lower": "bands[3].equivalence.p_lower_new",
            "p_upper": "bands[3].equivalence.p_upper_new",
            "ci90_lo": "bands[3].equivalence.ci90_new[0]",
            "ci90_hi": "bands[3].equivalence.ci90_new[1]",
            "p_tost": "bands[3].equivalence.p_new",
            "p_tost_fixed": "bands[3].equivalence.p_same",
            "delta_min_t": "bands[3].equivalence.smallest_margin_new",
            "delta_min_fixed": "bands[3].equivalence.smallest_margin_same",
        },
    ),
}


def _adjusted() -> dict[str, object]:
    p = [0.0001, 0.004, 0.012, 0.03, 0.041, 0.2, 0.5]
    return {"holm": holm(p), "bh": benjamini_hochberg(p)}


DESIGN = Design(tasks=89, within=0.095)


def _sizes() -> dict[str, object]:
    return {
        "n_per_group": two_proportion_size(0.058, 0.021),
        "mde_K5_10_20_40": [detectable_effect(DESIGN, k) for k in (5, 10, 20, 40)],
        "tost_K": samples_for_equivalence(0.03, DESIGN, lift=0.01),
    }


def _sequence() -> dict[str, object]:
    rho2 = tuned_rho2(8)
    return {"rho2": rho2, "half": half_width([3, 8, 20], 0.05, rho2).tolist()}


def _gap() -> dict[str, object]:
    gap = credible_gap(1.83, 0.72**2, 1.95)
    return {"matched": gap.matched, "exchangeable": gap.exchangeable, "worst": gap.worst_case}


def _bounds() -> dict[str, object]:
    """The strategy's part of each lift, in points."""
    return {
        "total": list(split_bounds(lift=6.0, error_drop=5.3)[1]),
        "above3x": list(split_bounds(lift=4.0, error_drop=1.6)[1]),
    }


CALLED: Mapping[str, Callable[[], dict[str, object]]] = {
    "C11": _adjusted,
    "C18": _sizes,
    "C19": _sequence,
    "C20": _gap,
    "C23": _bounds,
    "C27": lambda: {"power": contrast_power(0.02, DESIGN, 20)},
}

_documents: dict[str, Any] = {}


def document(name: str) -> Any:
    """What a command printed; the fixture below has run them all."""
    return _documents[name]


@pytest.fixture(scope="module", autouse=True)
def _printed(tmp_path_factory: pytest.TempPathFactory) -> None:
    for name, command in COMMANDS.items():
        with redirect_stdout(StringIO()) as out:
            analyze(
                str(command.file(tmp_path_factory.mktemp(name))),
                columns=[command.columns],
                factors=command.factors,
                reference=command.reference,
                margin_points=3.0,
                experiment=None,
                out=None,
                as_json=True,
            )
        _documents[name] = json.loads(out.getvalue())


def at(value: Any, path: str) -> Any:
    """The value at a path: names apart by dots, `[label]` for the row of a table or `[0]`."""
    for step in path.replace("[", ".[").split("."):
        if not step.startswith("["):
            value = value[step]
            continue
        label = step[1:-1]
        if not isinstance(value[0], dict):
            value = value[int(label)]
            continue
        value = next(row for row in value if next(iter(row.values())) == label)
    return value


def flat(expected: Mapping[str, Any]) -> dict[str, Any]:
    """R's values by one name each; nested ones are joined by a dot."""
    return {
        name if inner is None else f"{name}.{inner}": value
        for name, outer in expected.items()
        for inner, value in (outer.items() if isinstance(outer, dict) else [(None, outer)])
    }


@pytest.mark.parametrize("check", R)
def test_every_reference_value_is_reproduced(check: str) -> None:
    expected = flat(R[check]["expected"])
    command, paths = PRINTED.get(check, ("", {}))
    ours = {r: at(document(command), path) for r, path in paths.items()}
    ours |= CALLED[check]() if check in CALLED else {}
    assert ours.keys() == expected.keys(), "every value has a path, and every path a value"
    for name, value in expected.items():
        assert ours[name] == pytest.approx(value, rel=R[check]["tol"], abs=1e-13), name


NAMES = {  # statistics.md, section 11
    "bands[5]": "band n passed infra_errors infra_rate score lift equivalence infra_lift split",
    "bands[5].infra_rate": "est lo hi",
    "bands[5].score": "strict excluded bounds",
    "bands[5].score.strict": "est se_same se_new",
    "bands[5].score.excluded": "est se_same se_new",
    "bands[5].lift": "vs est se_naive se_same se_new df_new p_naive p_same p_new ci_same ci_new "
    "tau2",
    "bands[5].equivalence": "margin p_same p_new smallest_margin_same smallest_margin_new",
    "bands[5].infra_lift": "est p_naive p_same",
    "bands[5].split": "rescue strategy replayed",
    "trend": "infra_cochran_armitage_p score_page_p",
    "components": "finite super",
    "components.finite": "plug_in corrected within total",
    "components.finite.plug_in": "task entry band task:entry task:band entry:band task:entry:band",
    "components.super": "task entry band task:entry task:band entry:band task:entry:band",
    "factors[conc]": "factor assignment role levels component alone unique lmg flags",
    "factors[conc].levels[1]": "level est se_same se_assigned p p_holm",
    "factors[conc].component": "phi ci sd_points",
    "noise_budget[band]": "source sd_points share ci trial_share",
    "ceiling": "rule chosen per_ceiling",
    "ceiling.per_ceiling[1]": "band cuts_errors_p equivalent_p smallest_margin needed_trials",
    "gaps[1]": "a b est se_same se_new p_same p_new p_holm_same p_holm_new matched exchangeable "
    "worst_case verdict bounds",
    "design": "aliased gvif overlap waves mde",
    "crosscheck": "permutation_p cmh glmm agree",
    "crosscheck.cmh": "stat p or",
    "crosscheck.glmm": "fixed sd_task pa_means",
}
BOUNDS = ("bands[5].score.bounds", "bands[5].lift.ci_same", "bands[5].lift.ci_new",
          "bands[5].split.rescue", "bands[5].split.strategy", "factors[conc].component.ci",
          "noise_budget[band].ci", "gaps[1].bounds")  # fmt: skip


@pytest.mark.parametrize("path", NAMES)
def test_the_document_has_every_name_of_the_specification(path: str) -> None:
    assert set(NAMES[path].split()) <= at(document("assigned"), path).keys()


def test_intervals_are_two_numbers_and_decisions_are_yes_or_no() -> None:
    found = document("assigned")
    for path in BOUNDS:
        lo, hi = at(found, path)
        assert lo <= hi
    assert isinstance(at(found, "crosscheck.permutation_p"), float)
    assert isinstance(at(found, "crosscheck.agree"), bool)


ROLES = {"band": ("trial", "assigned"), "node": ("observed", "observed"),
         "hour": ("trial", "assigned"), "conc": ("wave", "assigned")}  # fmt: skip


@pytest.mark.parametrize("factor", ROLES)
def test_each_factor_keeps_the_way_in_which_its_levels_came_about(factor: str) -> None:
    row = at(document("assigned"), f"factors[{factor}]")
    assert (row["assignment"], row["role"]) == ROLES[factor]
    assert ("association" in row["flags"]) == (factor == "node")


def test_a_factor_set_per_wave_is_tested_between_its_waves() -> None:
    found = document("assigned")
    assert at(found, "design.waves.conc.waves") == at(found, "factors[conc].waves") == 24
    alone = at(document("trials"), "factors[conc].levels[1].se_assigned")
    assert at(found, "factors[conc].levels[1].se_assigned") != alone


@pytest.mark.parametrize("name", COMMANDS)
def test_no_number_is_missing_without_a_reason(name: str) -> None:
    def finite(value: Any) -> bool:
        if isinstance(value, dict):
            return all(map(finite, value.values()))
        if isinstance(value, list):
            return all(map(finite, value))
        return not isinstance(value, float) or math.isfinite(value)

    found = document(name)
    assert finite(found)
    missing = {part for part in ("gaps", "ceiling", "components", "crosscheck", "trend", "factors",
                                 "noise_budget", "design") if found[part] is None}  # fmt: skip
    named = {reason.split(" of ")[0].replace(" ", "_") for reason in found["refused"]}
    assert missing <= named | {"noise_budget"}
