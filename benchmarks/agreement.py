"""Do two runs of one experiment agree on every verdict? Made for the demo on two runtimes.

    infranoise demo --out on-processes
    infranoise demo --out in-containers --runtime docker
    python benchmarks/agreement.py on-processes in-containers

Compares verdict, cause and the place of OOM kills of every trial's accepted attempt. Ends with
status 1 if any trial differs, or is in one run only.
"""

import argparse
import sys
from pathlib import Path

from infranoise.models.ledger.reading import attempts, experiments
from infranoise.models.ledger.store import open_store

Verdict = tuple[str | None, str | None, str | None]


def verdicts(folder: Path) -> dict[str, Verdict]:
    """What became of every trial of the one experiment in a run's folder."""
    engine = open_store(folder / "ledger.sqlite")
    (name,) = experiments(engine)
    return {
        f"{line.task} {line.entry} {line.band} #{line.sample}": (line.verdict, line.cause, line.oom)
        for line in attempts(engine, name)
        if line.accepted
    }


def main() -> None:
    """Print what differs, and how much agrees."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    asked = parser.parse_args()
    first, second = verdicts(asked.first), verdicts(asked.second)
    differ = sorted(k for k in first.keys() | second.keys() if first.get(k) != second.get(k))
    for key in differ:
        print(f"{key}: {first.get(key, 'not run')} / {second.get(key, 'not run')}")
    print(f"{len(first.keys() | second.keys()) - len(differ)} trials agree, {len(differ)} differ")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
