"""How a foreign attempt ended, as evidence from which `classify` judges it.

A reward of 1 with a verifier behind it is a pass, whatever else was reported on the way: the
source's complaint then stays in the evidence, but blames nobody.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..models.classify import PASS_REWARD
from ..models.errors import SourceFault
from ..models.evidence import PhaseName
from ..models.foreign import Facts, told_fault, told_phase
from ..models.outcome import INFRA_CAUSES
from .bounded import Where
from .fields import number
from .labels import short
from .modes import Word

NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Ending(NamedTuple):
    """What a source tells of an ending.

    Args:
        word: what its mode means; see `modes`.
        mode, message: the source's own words.
        reward: the trial's reward in [0, 1]; None where the verifier left none.
        rewards: the named rewards behind it.
        walls: seconds of each phase that was reached; None where the time is not told.
        enforcement: how ceilings were enforced, as far as the source tells.
        settled: the user's own rule makes it a failure, also where there is no reward.
    """

    word: Word
    mode: str = ""
    message: str = ""
    reward: float | None = None
    rewards: Mapping[str, float] = NOTHING
    walls: Mapping[PhaseName, float | None] = NOTHING
    enforcement: str = ""
    settled: bool = False


def evidence_of(ending: Ending) -> Facts:
    """An ending as facts of an `Evidence`, in which kills, exit codes and processes left behind are
    unknown."""
    if ending.settled and ending.reward is None:
        return _settled(ending)
    facts: dict[str, Any] = {"node_seen": "unknown", "phases": _phases(ending)}
    if ending.rewards:
        facts["rewards"] = dict(ending.rewards)
    if ending.enforcement:
        facts["enforcement"] = ending.enforcement
    if ending.reward is not None:
        facts["reward"] = ending.reward
        if ending.word == "graded" and not ending.message:
            return facts  # nothing unusual, as nearly always
    said = short(": ".join(filter(None, (ending.mode, ending.message))))
    if ending.reward is None:
        facts["reward_fault"] = said or "the source holds no reward"
    return facts | _blame(ending, said)


def _settled(ending: Ending) -> Facts:
    """A failure without a verdict, because the user says so: the evidence keeps who said it."""
    said = f"no verdict; a rule of the importer's own makes {ending.mode!r} a failure"
    walls: dict[PhaseName, float | None] = {"agent": None, **ending.walls}
    judged = evidence_of(ending._replace(reward=0.0, walls={"verifier": None, **walls}))
    return {**judged, "reward_fault": short(said)}


def _blame(ending: Ending, said: str) -> dict[str, Any]:
    """What the source's complaint adds to the evidence."""
    word, solved = ending.word, ending.reward is not None and ending.reward >= PASS_REWARD
    if word == "cancelled":
        return {"cancelled": said or "cancelled"}
    if word == "no_answer":
        return {"answered": "no"}
    if word == "agent_error" or solved:
        return {"agent_fault": said or "the agent broke"} if said or not solved else {}
    if word not in INFRA_CAUSES or (word == "verifier_error" and ending.reward is None):
        return {}
    if word == "node_lost":
        return {"node_seen": "no"}
    if word == "harness":
        return {"harness_fault": said or "the harness broke"}
    return {"fault": told_fault(cause=word, message=said, facts={"mode": short(ending.mode)})}


def _phases(ending: Ending) -> list[Facts]:
    return [
        told_phase(name=name, wall_s=wall_s, timed_out=_late(ending, name), left_behind=None)
        for name, wall_s in ending.walls.items()
    ]


def _late(ending: Ending, phase: PhaseName) -> bool:
    """The phase ran into its timeout."""
    if phase == "verifier":
        return ending.word == "verifier_error" and "timeout" in ending.mode.lower()
    return phase == "agent" and ending.word == "agent_timeout"


def checked_reward(path: Where, place: str, value: object, most: float = 1.0) -> float:
    """A reward as a fraction of the most that can be had.

    Raises:
        SourceFault: it is no number, not finite, or outside 0..`most`.
    """
    if isinstance(value, bool):
        return float(value)
    if (found := number(value)) is None:
        raise SourceFault(path, place, f"a reward of {value!r:.60} is no finite number")
    share = found / most
    if not 0.0 <= share <= 1.0:
        raise SourceFault(
            path, place,
            f"a reward of {found:g} lies outside 0..{most:g}; give the most that a trial can earn "
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
