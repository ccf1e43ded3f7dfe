"""The bake-off of `examples/`: production's pods, and nothing moves but the model."""

import json
from pathlib import Path

import pytest

from infranoise.cli.plan import Question, plan
from infranoise.models.experiment_file import load_experiment

FILE = Path(__file__).parents[2] / "examples" / "bake-off.toml"


def test_its_entries_differ_in_their_model_alone() -> None:
    experiment = load_experiment(FILE)
    told = [entry.model_dump(exclude={"name", "model"}) for entry in experiment.entries]
    assert all(one == told[0] for one in told)
    assert len({entry.model for entry in experiment.entries}) == len(told) >= 2


def test_its_stand_ins_are_named_as_policies() -> None:
    assert all(entry.name.startswith("policy ") for entry in load_experiment(FILE).entries)


def test_it_has_one_configuration_and_can_be_planned(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan(FILE, Question(), as_json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert {contrast["factor"] for contrast in found["contrasts"]} == {"entry"}
