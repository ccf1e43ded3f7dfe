"""`plan`: what it says before anything is spent."""

import json
from pathlib import Path
from typing import Any

import pytest

from infranoise.cli.plan import Question, plan
from infranoise.models.errors import DesignError

GOLDEN = Path(__file__).parents[1] / "golden"
COLUMNS = ["task=t,entry=m,band=b,n=n,passes=s,infra_errors=err"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some.toml"
    path.write_text(
        """
        tasks = ["bundled:headroom"]
        samples = 3
        bands = ["1x", "3x", "uncapped"]
        [[entries]]
        agent = "policy"
        model = "lean"
        [[entries]]
        agent = "policy"
        model = "heavy"
        [factors]
        concurrency = [1, 4]
        time_limit = [1.0, 2.0]
        [pods]
        runtime = "process"
        """
    )
    return path


def planned(file: Path, capsys: pytest.CaptureFixture[str], **asked: Any) -> dict[str, Any]:
    assert plan(file, Question(**asked), as_json=True) == 0
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def test_every_contrast_has_its_sizes(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(file, capsys)
    contrasts = [(c["factor"], c["level"], c["vs"], c["unit"]) for c in found["contrasts"]]
    assert contrasts == [
        ("band", "3x", "1x", "trial"),
        ("band", "uncapped", "1x", "trial"),
        ("entry", "lean", "heavy", "trial"),
        ("concurrency", "4", "1", "wave"),
        ("time_limit", "2", "1", "trial"),
    ]
    band = found["contrasts"][0]
    # 2 w / (T M K): 10 tasks, 2 entries, 3 samples at 2 x 2 further levels
    assert band["detectable_points"] == pytest.approx(280.1585 * (0.2 / (10 * 2 * 12)) ** 0.5)
    assert band["samples_needed"] > found["samples"]


def test_too_few_waves_are_said_before_running(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = planned(file, capsys)
    (factor,) = found["wave_factors"]
    assert (factor["waves"], factor["testable"]) == (6, False)
    assert factor["reason"].startswith("not testable: 6 waves, at least 8")
    plan(file, Question(), as_json=False)
    assert "not testable" in capsys.readouterr().out


def test_the_design_is_diagnosed_as_results_would_be(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    design = planned(file, capsys)["design"]
    assert design["aliased"] == []
    assert design["overlap"] == 1.0
    assert design["gvif"] == pytest.approx({"band": 1.0, "concurrency": 1.0, "time_limit": 1.0})
    assert design["waves"] == {"concurrency": 6}


def test_earlier_results_replace_the_assumed_noise(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = str(GOLDEN / "balanced_grid.csv")
    found = planned(file, capsys, power_from=table, columns=COLUMNS)
    assert found["noise"]["source"] == "balanced_grid.csv"
    assert found["noise"]["within"] == pytest.approx(0.102777777777778)
    band = found["contrasts"][0]
    assert band["detectable_new_points"] > band["detectable_points"]


def test_one_band_and_nothing_else_has_no_contrast(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text('tasks = ["bundled:headroom"]\nbands = ["1x"]\n[pods]\nruntime = "process"')
    found = planned(file, capsys)
    assert (found["contrasts"], found["design"]) == ([], None)


def test_results_that_are_not_there_are_named(file: Path) -> None:
    with pytest.raises(DesignError, match=r"nowhere: no run here"):
        plan(file, Question(power_from="nowhere"), as_json=True)


def test_what_is_asked_of_a_cluster_is_refused_where_there_is_none(file: Path) -> None:
    with file.open("a") as text:
        text.write("[pods.kubernetes]\npods_per_node = 4\n")
    with pytest.raises(DesignError, match=r"\[pods.kubernetes\].*--runtime kubernetes"):
        plan(file, Question(), as_json=True)


def test_and_planned_where_pods_are_a_cluster_s(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with file.open("a") as text:
        text.write("[pods.kubernetes]\npods_per_node = 4\n")
    with pytest.raises(DesignError, match=r"10 task\(s\) cannot run here"):
        plan(file, Question(runtime="kubernetes"), as_json=True)
    assert "names no image" in capsys.readouterr().err
    monkeypatch.setenv("INFRANOISE_IMAGE_PREFIX", "registry.example/env")
    assert planned(file, capsys, runtime="kubernetes")["samples"] == 3


@pytest.mark.parametrize(
    ("line", "why"),
    [('network = "none"', "cannot promise it"), ("[factors]\negress_mbps = [10]", "egress_mbps")],
)
def test_what_a_cluster_cannot_do_is_refused_before_anything_is_planned(
    tmp_path: Path, line: str, why: str
) -> None:
    file = tmp_path / "some.toml"
    file.write_text(f'tasks = ["bundled:headroom"]\n[pods]\nruntime = "kubernetes"\n{line}\n')
    with pytest.raises(DesignError, match=why):
        plan(file, Question(), as_json=True)


@pytest.mark.parametrize(
    ("why_no", "network", "match"),
    [
        ("", "public", r'share the machine.*set \[pods\] network = "internal"'),
        ("links are made by root alone", "internal", "need links to this machine: links are made"),
    ],
)
def test_egress_that_this_machine_cannot_set_is_refused_before_anything_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why_no: str, network: str, match: str
) -> None:
    monkeypatch.setattr("infranoise.cli.settle.why_no_links", lambda: why_no)
    file = tmp_path / "far.toml"
    pods = f'[pods]\nruntime = "process"\nnetwork = "{network}"\n'
    file.write_text(f'tasks = ["bundled:egress"]\n{pods}[factors]\negress_mbps = [10]\n')
    with pytest.raises(DesignError, match=match):
        plan(file, Question(), as_json=True)
