"""Specification of modes: the user's rules first, then ours, and the unknown stays unknown."""

from pathlib import Path

import pytest

from infranoise.importers.harbor import read_harbor
from infranoise.importers.modes import WORDS, Modes, rules_in
from infranoise.importers.modes_builtin import BUILT_IN
from infranoise.importers.reading import Account, Choices
from infranoise.models.errors import DesignError
from infranoise.models.ledger.foreign_judged import judged_facts

from .conftest import harbor_job, harbor_result

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


OVERRULED = [  # the user's word for AgentTimeoutError, the reward -> verdict and cause
    ("agent_timeout", None, ("failed", "agent_timeout")),
    ("agent_error", None, ("failed", "agent_error")),
    ("no_answer", None, ("failed", "no_answer")),
    ("wrong", None, ("failed", "wrong")),
    ("wrong", 0.0, ("failed", "wrong")),
    ("graded", None, ("infra_error", "verifier_error")),
    ("evicted", None, ("infra_error", "evicted")),
    ("evicted", 0.0, ("infra_error", "evicted")),
    ("evicted", 1.0, ("passed", "")),
    ("cancelled", 0.0, ("cancelled", "")),
]


@pytest.mark.parametrize(("word", "reward", "outcome"), OVERRULED)
def test_the_users_word_decides_the_outcome(
    tmp_path: Path, word: str, reward: float | None, outcome: tuple[str, str]
) -> None:
    text = f'[[harbor]]\nmode = "AgentTimeoutError"\nmeans = "{word}"\n'
    modes = Modes((*rules_in(Path("own.toml"), text)["harbor"], *BUILT_IN["harbor"]), "hash")
    result = harbor_result("a", reward=reward, exception=("AgentTimeoutError", "it said"))
    job = harbor_job(tmp_path / "job", result)
    (unit,) = read_harbor([job], Choices(modes), Account())
    ((attempt,),) = [trial.attempts for trial in unit.trials]
    found, _ = judged_facts(attempt.evidence)
    assert (found.verdict, found.cause) == outcome
    if reward is None and outcome[0] == "failed":
        assert "a rule of the importer's own" in attempt.evidence["reward_fault"]


def test_without_a_rule_of_the_users_a_missing_verdict_is_nobodys_failure(tmp_path: Path) -> None:
    result = harbor_result("a", reward=None, exception=("AgentTimeoutError", "it said"))
    job = harbor_job(tmp_path / "job", result)
    (unit,) = read_harbor([job], Choices(Modes(BUILT_IN["harbor"])), Account())
    ((attempt,),) = [trial.attempts for trial in unit.trials]
    assert judged_facts(attempt.evidence)[0].cause == "verifier_error"


WRONG = {
    "no TOML": ("[[harbor", "is no TOML"),
    "a kind that nobody knows": ('[[harbour]]\nmode="a"\nmeans="wrong"', "did you mean 'harbor'"),
    "a word that nobody knows": ('[[harbor]]\nmode="a"\nmeans="oomkilled"', "mean 'oom_killed'"),
    "a word like none of ours": (
        '[[harbor]]\nmode="a"\nmeans="zzz"',
        "no ending; there are: wrong",
    ),
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
