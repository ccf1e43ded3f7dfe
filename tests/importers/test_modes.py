"""Specification of modes: the user's rules first, then ours, and the unknown stays unknown."""

from pathlib import Path

import pytest

from infranoise.importers.modes import WORDS, Modes, rules_in
from infranoise.importers.modes_builtin import BUILT_IN
from infranoise.models.errors import DesignError

OWN = """
[[harbor]]
mode = "NonZeroAgentExitCodeError"
message = "exit code 137"
means = "oom_killed"

[[harbor]]
mode = "Api*"
means = "graded"
"""

READINGS = [
    ("NonZeroAgentExitCodeError", "exit code 137", "oom_killed"),
    ("NonZeroAgentExitCodeError", "exit code 2", "agent_error"),
    ("ApiRateLimitError", "", "graded"),
    ("VerifierTimeoutError", "", "verifier_error"),
    ("SomethingNew", "", "unknown"),
    ("SomethingNew", "no space left on device", "disk_full"),
    ("", "", "graded"),
]


@pytest.mark.parametrize(("mode", "message", "word"), READINGS)
def test_the_users_rules_come_first(mode: str, message: str, word: str) -> None:
    own = rules_in(Path("own.toml"), OWN)
    modes = Modes((*own["harbor"], *BUILT_IN["harbor"]))
    assert modes.word(mode, message) == word
    assert modes.word(mode, message) == word  # also when it was met before


WRONG = {
    "no TOML": ("[[harbor", "is no TOML"),
    "a kind that nobody knows": ('[[harbour]]\nmode="a"\nmeans="wrong"', "did you mean 'harbor'"),
    "a word that nobody knows": ('[[harbor]]\nmode="a"\nmeans="oomkilled"', "mean 'oom_killed'"),
    "no mode": ('[[harbor]]\nmeans="wrong"', "rule 1: needs mode"),
    "a key that nobody knows": ('[[harbor]]\nmode="a"\nmeans="wrong"\nwhy="x"', "rule 1: why"),
    "no regular expression": ('[[harbor]]\nmode="a"\nmeans="wrong"\nmessage="("', "no regular"),
    "a table for a list": ('[harbor]\nmode="a"', r"write rules as \[\[harbor\]\]"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_of_rules_says_what_is_wrong(case: str) -> None:
    text, words = WRONG[case]
    with pytest.raises(DesignError, match=words):
        rules_in(Path("own.toml"), text)


def test_every_built_in_rule_means_a_word_of_ours() -> None:
    assert {rule.means for rules in BUILT_IN.values() for rule in rules} <= set(WORDS)
