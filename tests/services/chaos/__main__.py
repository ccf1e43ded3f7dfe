"""The long chaos suite: `make chaos`, or `PYTHONPATH=tests/services python -m chaos --seed 7`."""

import argparse
import json
import random
import shutil
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from .show import Shown, possible_kinds, show


def table(shown: Shown) -> str:
    """Faults by kind, and whether each sentence holds."""
    counts = Counter(one.kind for one in shown.happened)
    rows = [f"{counts[kind]:5}  {kind}" for kind in sorted(counts)]
    rows += [f"{0:5}  {kind} (nothing to break)" for kind in shown.missed if kind not in counts]
    told = [
        f"{'holds' if one.holds else 'FAILS':6} {one.sentence}\n       {one.figures}"
        for one in shown.findings
    ]
    head = f"seed {shown.seed}: {len(shown.happened)} faults in {shown.wall_s:.0f} s"
    return "\n".join((head, *rows, "", *told))


def main() -> int:
    """Play schedules; status 1 where a sentence does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, prog="chaos")
    parser.add_argument("--seed", type=int, action="append", help="may be given again; drawn")
    parser.add_argument("--faults", type=int, default=66)
    parser.add_argument("--seconds", type=float, default=480, help="no fault begins later")
    parser.add_argument("--only", action="append", help="this kind alone; may be given again")
    parser.add_argument("--out", type=Path, default=Path("chaos.json"))
    parser.add_argument("--logs", type=Path, default=Path("chaos-logs"))
    parser.add_argument("--no-docker", action="store_true")
    asked = parser.parse_args()
    docker = not asked.no_docker and shutil.which("docker") is not None
    kinds = possible_kinds(docker=docker)
    if asked.only:
        kinds = [kind for kind in kinds if any(word in kind for word in asked.only)]
    played = []
    for seed in asked.seed or [random.SystemRandom().randrange(10**6)]:
        print(f"seed {seed}", flush=True)
        shown = show(
            seed, kinds, asked.faults, until_s=asked.seconds, docker=docker, keep=asked.logs
        )
        print(table(shown), flush=True)
        played.append(shown)
    document = [asdict(one) | {"holds": one.holds} for one in played]
    asked.out.write_text(json.dumps(document, indent=1) + "\n")
    return 0 if all(one.holds for one in played) else 1


if __name__ == "__main__":
    sys.exit(main())
