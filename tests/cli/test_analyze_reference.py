"""R's values, read out of what `analyze --json` prints: the way from file to number is sound."""

import json
from pathlib import Path
from typing import Any

import pytest

from infranoise.cli.analyze import analyze

GOLDEN = Path(__file__).parents[1] / "golden"
EFFECTS = {r["id"]: r["expected"] for r in json.loads((GOLDEN / "effects.json").read_text())}
LINEAR = json.loads((GOLDEN / "linear_model.json").read_text())["all"]
TIGHT = 1e-8


def printed(
    capsys: pytest.CaptureFixture[str], table: str, columns: str, factors: list[str]
) -> dict[str, Any]:
    analyze(
        str(GOLDEN / table),
        columns=[columns],
        factors=factors,
        reference=None if table == "article.csv" else "0",
        margin_points=3.0,
        experiment=None,
        out=None,
        as_json=True,
    )
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def test_contrasts_equivalence_components_and_cmh(capsys: pytest.CaptureFixture[str]) -> None:
    roles = "task=t,entry=m,band=b,n=n,passes=s,infra_errors=err"
    found = printed(capsys, "balanced_grid.csv", roles, [])
    bands = {row["band"]: row for row in found["bands"]}
    for band, r in (("3", EFFECTS["C03"]["b3"]), ("5", EFFECTS["C03"]["b5"])):
        lift = bands[band]["lift"]
        assert lift["est"] == pytest.approx(r["est"], rel=TIGHT)
        assert lift["se_naive"] == pytest.approx(r["se_naive"], rel=TIGHT)
        assert lift["se_same"] == pytest.approx(r["se_fixed"], rel=TIGHT)
        assert lift["se_new"] == pytest.approx(r["se_cluster"], rel=TIGHT)
        assert lift["p_naive"] == pytest.approx(r["p_naive_chisq"], rel=TIGHT)
        assert lift["ci_new"] == pytest.approx([r["ci_cluster_lo"], r["ci_cluster_hi"]], rel=TIGHT)
    equal = bands["3"]["equivalence"]
    assert equal["p_new"] == pytest.approx(EFFECTS["C10"]["p_tost"], rel=TIGHT)
    assert equal["smallest_margin_same"] == pytest.approx(
        EFFECTS["C10"]["delta_min_fixed"], rel=TIGHT
    )
    finite = found["components"]["finite"]
    assert finite["corrected"]["task:band"] == pytest.approx(EFFECTS["C01"]["phi.t:b"], rel=1e-7)
    assert finite["within"] == pytest.approx(EFFECTS["C01"]["within"], rel=TIGHT)
    cmh = found["crosscheck"]["cmh"]["5"]
    for name in ("stat", "p", "or", "stat_cc", "p_cc"):
        assert cmh[name] == pytest.approx(EFFECTS["C04"][name], rel=TIGHT)


def test_effects_of_several_factors_with_both_errors(capsys: pytest.CaptureFixture[str]) -> None:
    roles = "task=t,entry=m,band=b,passed=y,infra_error=err"
    found = printed(capsys, "observed_trials.csv", roles, ["node", "hour", "conc"])
    short = {"band": "b"}
    for row in found["factors"]:
        for level in row["levels"]:
            name = short.get(row["factor"], row["factor"]) + level["level"]
            assert level["est"] == pytest.approx(LINEAR["est"][name], rel=1e-7)
            assert level["se_same"] == pytest.approx(LINEAR["hc2"][name], rel=TIGHT)
            assert level["se_assigned"] == pytest.approx(LINEAR["cr1_task"][name], rel=TIGHT)


def test_the_studys_table_from_its_counts(capsys: pytest.CaptureFixture[str]) -> None:
    roles = "band=band,n=n,passes=success,infra_errors=infra"
    found = printed(capsys, "article.csv", roles, [])
    bands, r = {row["band"]: row for row in found["bands"]}, EFFECTS["C08"]
    assert bands["3x"]["infra_lift"]["p_naive"] == pytest.approx(r["p_infra_1x_3x"], rel=TIGHT)
    assert bands["3x"]["lift"]["p_naive"] == pytest.approx(r["p_score_1x_3x"], rel=TIGHT)
    assert bands["uncapped"]["lift"]["p_naive"] == pytest.approx(r["p_score_1x_unc"], rel=TIGHT)
    assert found["trend"]["infra_cochran_armitage_p"] == pytest.approx(r["ca_infra_p"], rel=1e-6)
    wilson = bands["3x"]["infra_rate"]
    assert wilson["lo"] == pytest.approx(EFFECTS["C08b"]["wilson_lo"], rel=1e-6)
