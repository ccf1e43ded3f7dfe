"""What every verifier of the bundled tasks shares: where things lie, and how a score is written.

The reward file is written for every answer that an agent can give, unreadable ones too: a missing
reward then always means that the verifier itself was stopped.
"""

import hashlib
import json
import os
from collections.abc import Callable

ROOT = os.environ.get("INFRANOISE_ROOT", "")
APP = ROOT + "/app"
DIGESTS = os.path.dirname(os.path.abspath(__file__)) + "/inputs.json"


def answer(name: str, most_bytes: int) -> str:
    """Path of the agent's file `name` in /app.

    Raises: ValueError: it is missing, no plain file, or longer than any right answer can be.
    """
    path = f"{APP}/{name}"
    if not os.path.isfile(path):
        raise ValueError(f"/app/{name} is missing or no plain file")
    if os.path.getsize(path) > most_bytes:
        raise ValueError(f"/app/{name} is longer than {most_bytes} bytes")
    return path


def text(name: str, most_bytes: int) -> str:
    """What the agent wrote into /app/`name`; raises ValueError as `answer` does."""
    with open(answer(name, most_bytes), encoding="ascii") as file:
        return file.read()


def share_right(given: dict[str, int], right: dict[str, int]) -> float:
    """Share of keys with the right value; a key too many costs as much as a wrong one."""
    hits = sum(given.get(key) == value for key, value in right.items())
    return hits / max(len(right), len(given))


def counts(name: str, most_bytes: int) -> dict[str, int]:
    """An answer of lines `key number`, as a mapping; raises ValueError for any other line."""
    pairs = [line.split() for line in text(name, most_bytes).splitlines() if line.strip()]
    return {key: int(number) for key, number in pairs}


def grade(score: Callable[[], float]) -> None:
    """Writes the reward: what `score` gives, or 0 for changed inputs and unreadable answers."""
    try:
        _refuse_changed_inputs()
        reward = score()
    except (ValueError, RecursionError) as error:
        print(f"no credit: {error}")
        reward = 0.0
    print(f"reward {reward:.4f}")
    os.makedirs(f"{ROOT}/logs/verifier", exist_ok=True)
    with open(f"{ROOT}/logs/verifier/reward.txt", "w", encoding="ascii") as file:
        file.write(f"{reward:.6g}\n")


def _refuse_changed_inputs() -> None:
    """The verifier computes from the files in /app, so these must be the ones we delivered."""
    with open(DIGESTS, encoding="ascii") as file:
        digests = json.load(file)
    for name, digest in digests.items():
        if not os.path.isfile(f"{APP}/{name}") or _sha256(f"{APP}/{name}") != digest:
            raise ValueError(f"/app/{name} is not as delivered")


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while block := file.read(1 << 16):
            digest.update(block)
    return digest.hexdigest()
