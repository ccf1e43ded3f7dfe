"""The verdict that a verifier leaves: `reward.json`, else `reward.txt`."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

LIMIT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Reward:
    """`reward` in [0, 1], or None and the reason in `fault`. `rewards` are the named ones."""

    reward: float | None = None
    rewards: Mapping[str, float] = field(default_factory=dict)
    fault: str = ""


def read_reward(folder: Path) -> Reward:
    """The reward in a copy of `/logs/verifier`. What lies there is hostile: it is only parsed.

    `reward.json` wins over `reward.txt`, as in Harbor. It is one number, or an object of named
    numbers: the one called `reward` is the trial's, else their mean.
    """
    for name, parse in (("reward.json", _from_json), ("reward.txt", _from_text)):
        path = folder / name
        if path.is_file() and not path.is_symlink():
            if path.stat().st_size > LIMIT_BYTES:
                return Reward(fault=f"{name} is larger than {LIMIT_BYTES} bytes")
            return parse(path.read_text(encoding="utf-8", errors="replace"))
    return Reward(fault="the verifier left neither reward.json nor reward.txt")


def _from_text(text: str) -> Reward:
    try:
        return _checked("reward.txt", {"reward": float(text.strip())})
    except ValueError:
        return Reward(fault=f"reward.txt holds {text.strip()[:80]!r}, which is no number")


def _from_json(text: str) -> Reward:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Reward(fault=f"reward.json is not JSON: {error}")
    named = value if isinstance(value, dict) else {"reward": value}
    if not named or not all(_is_number(reward) for reward in named.values()):
        return Reward(fault="reward.json holds something else than numbers")
    return _checked("reward.json", {str(k): float(v) for k, v in named.items()})


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _checked(name: str, named: dict[str, float]) -> Reward:
    outside = {k: v for k, v in named.items() if not (math.isfinite(v) and 0 <= v <= 1)}
    if outside:
        return Reward(fault=f"{name}: outside 0..1: {outside}")
    overall = named.get("reward", math.fsum(named.values()) / len(named))
    return Reward(overall, named if set(named) != {"reward"} else {})
