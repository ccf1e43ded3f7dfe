"""The reward that a verifier leaves, and what is no reward."""

from pathlib import Path

import pytest

from infranoise.workers.harness.reward import LIMIT_BYTES, read_reward

REWARDS = {
    "one": ({"reward.txt": "1"}, 1.0),
    "zero with white space": ({"reward.txt": " 0 \n"}, 0.0),
    "a fraction": ({"reward.txt": "0.25"}, 0.25),
    "json with a reward": ({"reward.json": '{"reward": 0.5, "style": 1}'}, 0.5),
    "json with named rewards alone: their mean": ({"reward.json": '{"a": 0, "b": 1}'}, 0.5),
    "json with a number": ({"reward.json": "1"}, 1.0),
    "json with a truth value": ({"reward.json": '{"reward": true}'}, 1.0),
    "json wins over text": ({"reward.json": '{"reward": 1}', "reward.txt": "0"}, 1.0),
}
FAULTS = {
    "nothing": ({}, "left neither"),
    "an empty text": ({"reward.txt": ""}, "which is no number"),
    "words": ({"reward.txt": "passed"}, "'passed', which is no number"),
    "not a number": ({"reward.txt": "nan"}, "outside 0..1"),
    "infinity": ({"reward.txt": "inf"}, "outside 0..1"),
    "more than one": ({"reward.txt": "2"}, "outside 0..1"),
    "less than zero": ({"reward.json": '{"reward": -1}'}, "outside 0..1"),
    "broken json": ({"reward.json": "{"}, "is not JSON"),
    "json without numbers": ({"reward.json": '{"reward": "1"}'}, "something else than numbers"),
    "an empty object": ({"reward.json": "{}"}, "something else than numbers"),
    "NaN in json": ({"reward.json": '{"reward": NaN}'}, "outside 0..1"),
    "json as deep as the sea": ({"reward.json": "[" * 100_000}, "is not JSON"),
    "a huge file": ({"reward.txt": "1" * (LIMIT_BYTES + 1)}, "is larger than"),
}


def left(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("case", REWARDS)
def test_a_reward_is_read(case: str, tmp_path: Path) -> None:
    files, reward = REWARDS[case]
    found = read_reward(left(tmp_path, files))
    assert (found.reward, found.fault) == (reward, "")


@pytest.mark.parametrize("case", FAULTS)
def test_what_is_no_reward_is_a_fault_and_never_zero(case: str, tmp_path: Path) -> None:
    files, words = FAULTS[case]
    found = read_reward(left(tmp_path, files))
    assert found.reward is None
    assert words in found.fault


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("1")
    (tmp_path / "reward.txt").symlink_to(tmp_path / "elsewhere")
    assert read_reward(tmp_path).reward is None
