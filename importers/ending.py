"""How a foreign attempt ended, as evidence from which `classify` judges it.

A reward of 1 with a verifier behind it is a pass, whatever else was reported on the way: the
source's complaint then stays in the evidence, but blames nobody.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..models.classify import PASS_REWARD
from ..models.errors import SourceFault
from ..models.evidence import Evidence, Fault, Phase, PhaseName
from ..models.outcome import INFRA_CAUSES
from .labels import short
from .modes import Word


@dataclass(frozen=True, slots=True)
class Ending:
    """What a source tells of an ending.

    Args:
        word: what its mode means; see `modes`.
        mode, message: the source's own words.
        reward: the trial's reward in [0, 1]; None where the verifier left none.
        rewards: the named rewards behind it.
        walls: seconds of each phase that was reached; None where the time is not told.
        enforcement: how ceilings were enforced, as far as the source tells.
    """

    word: Word
    mode: str = ""
    message: str = ""
    reward: float | None = None
    rewards: Mapping[str, float] = field(default_factory=dict)
    walls: Mapping[PhaseName, float | None] = field(default_factory=dict)
    enforcement: str = ""


def evidence_of(ending: Ending) -> Evidence:
    """The evidence of an ending; kills, exit codes and processes left behind are unknown in it."""
    word, solved = ending.word, ending.reward is not None and ending.reward >= PASS_REWARD
    said = short(": ".join(filter(None, (ending.mode, ending.message))))
    blamed = word in INFRA_CAUSES and not solved
    facts: dict[str, object] = {}
    if word == "cancelled":
        facts["cancelled"] = said or "cancelled"
    elif blamed and word == "node_lost":
        facts["node_seen"] = "no"
    elif blamed and word == "harness":
        facts["harness_fault"] = said or "the harness broke"
    elif blamed and (word != "verifier_error" or ending.reward is not None):
        facts["fault"] = Fault(cause=word, message=said, facts={"mode": short(ending.mode)})
    elif word == "no_answer":
        facts["answered"] = "no"
    if word == "agent_error" or (said and solved):
        facts["agent_fault"] = said or "the agent broke"
    if ending.reward is None:
        facts["reward_fault"] = said or "the source holds no reward"
    else:
        facts["reward"] = ending.reward
    if ending.rewards:
        facts["rewards"] = dict(ending.rewards)
    if ending.enforcement:
        facts["enforcement"] = ending.enforcement
    phases = tuple(_phase(name, wall, ending) for name, wall in ending.walls.items())
    return Evidence(**{"node_seen": "unknown", "phases": phases} | facts)  # type: ignore[arg-type]


def _phase(name: PhaseName, wall_s: float | None, ending: Ending) -> Phase:
    late = {"agent": "agent_timeout"}.get(name) == ending.word
    cut_off = late or (name == "verifier" and "timeout" in ending.mode.lower()
                       and ending.word == "verifier_error")  # fmt: skip
    return Phase(name=name, wall_s=wall_s, timed_out=cut_off, left_behind=None)


def checked_reward(path: Path, place: str, value: object, most: float = 1.0) -> float:
    """A reward as a fraction of the most that can be had.

    Raises:
        SourceFault: it is no number, not finite, or outside 0..`most`.
    """
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise SourceFault(path, place, f"a reward of {value!r:.60} is no finite number")
    share = value / most
    if not 0.0 <= share <= 1.0:
        raise SourceFault(
            path, place,
            f"a reward of {value:g} lies outside 0..{most:g}; give the most that a trial can earn "
            "with --max-reward",
        )  # fmt: skip
    return share


def one_reward(named: Mapping[str, float], key: str | None) -> float | None:
    """The trial's reward of several named ones: `key`, else `reward`, else their mean."""
    if key is not None:
        return named.get(key)
    if "reward" in named or not named:
        return named.get("reward")
    return sum(named.values()) / len(named)
