"""Every benchmark, one after the other: what each prints, and its figures in one file.

    python benchmarks/run_all.py                 # all of them
    python benchmarks/run_all.py noop_run ledger # some
    make bench

Each runs in a process of its own and ends with status 1 where a goal is missed; one that cannot run
here (no Docker, no R) says so. Ends with status 1 if any goal was missed.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
COMMANDS = {
    "headroom_curve": [],
    "noop_run": ["--out", "{out}"],
    "process_pod": [],
    "docker_pod": [],
    "analysis": ["--out", "{out}"],
    "gateway": ["--out", "{out}"],
    "outlet": ["--out", "{out}"],
    "ledger": ["--out", "{out}"],
    "importers": [],
    "kubernetes_watch": [],
    "fleet_noop": ["--out", "{out}"],
    "idle_worker": ["--out", "{out}"],
    "million": ["--out", "{out}"],
    "thousand_nodes": ["--out", "{out}"],
}
ROOM_FOR_NAMES = 18


def run(name: str, folder: Path) -> dict[str, object]:
    """One benchmark: its status, its seconds, what it printed, and its figures if it gives any."""
    out = folder / f"{name}.json"
    options = [option.format(out=out) for option in COMMANDS[name]]
    since = time.monotonic()
    print(f"\n== {name}", flush=True)
    with subprocess.Popen(
        [sys.executable, HERE / f"{name}.py", *options], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    figures = json.loads(out.read_text()) if out.exists() else None
    return {
        "status": process.returncode,
        "wall_s": round(time.monotonic() - since, 1),
        "figures": figures,
        "printed": lines,
    }


def main() -> None:
    """Run what was asked for and write `bench.json`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(COMMANDS)}; all unless given")
    parser.add_argument("--out", type=Path, default=Path("bench.json"))
    asked = parser.parse_args()
    unknown = set(asked.names) - set(COMMANDS)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}")
    folder = asked.out.parent
    results = {}
    for name in asked.names or COMMANDS:
        results[name] = run(name, folder)
        (folder / f"{name}.json").unlink(missing_ok=True)
    asked.out.write_text(json.dumps(results, indent=1))
    print(f"\n{'benchmark':{ROOM_FOR_NAMES}}{'status':>8}{'wall s':>9}")
    for name, result in results.items():
        word = "ok" if result["status"] == 0 else f"exit {result['status']}"
        print(f"{name:{ROOM_FOR_NAMES}}{word:>8}{result['wall_s']:>9}")
    print(f"written: {asked.out}")
    sys.exit(any(result["status"] for result in results.values()))


if __name__ == "__main__":
    main()
