"""Starts the program with sales that it has not seen, and waits half a second and no more."""

import os
import random
import subprocess
import sys
import time

from grade import APP, answer, grade

PATIENCE_S = 0.5
SALES = 90_000
FRESH = f"{APP}/fresh.tsv"


def write_fresh_sales() -> int:
    """Writes a file as large as the example; returns its takings, known by construction."""
    ones = [(pieces, cents) for pieces in range(1, 10) for cents in range(5, 2005, 199)]
    start = random.SystemRandom().randrange(1_000, 5_000)
    times, rest = divmod(SALES, len(ones))
    rows = [f"A{start + pieces}\t{pieces}\t{cents}\n" for pieces, cents in ones]
    with open(FRESH, "w", encoding="ascii") as file:
        file.write("".join(rows) * times + "".join(rows[:rest]))
    takings = [pieces * cents for pieces, cents in ones]
    return sum(takings) * times + sum(takings[:rest])


def score() -> float:
    answer("till.py", most_bytes=1_000_000)
    takings = write_fresh_sales()
    time.sleep(0.2)  # so that what the verifier has used of a CPU quota is not held against it
    try:
        done = subprocess.run(
            [sys.executable, "-S", "till.py", FRESH],
            cwd=APP,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"till.py was not done after {PATIENCE_S} s")
        return 0.0
    finally:
        os.unlink(FRESH)
    return float(done.stdout.split() == [str(takings).encode()])


if __name__ == "__main__":
    grade(score)
