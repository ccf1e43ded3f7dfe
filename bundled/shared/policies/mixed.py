"""The policy `mixed`: prints `lean` or `heavy`, each for half of the samples, fixed by the seed."""

import hashlib
import os


def way(seed: str, task: str, sample: str) -> str:
    """The way of one sample, from these facts alone."""
    digest = hashlib.sha256(f"{seed}/{task}/{sample}".encode()).digest()
    return ("lean", "heavy")[digest[0] & 1]


if __name__ == "__main__":
    facts = (os.environ.get(f"INFRANOISE_{name}", "") for name in ("SEED", "TASK", "SAMPLE"))
    print(way(*facts))
