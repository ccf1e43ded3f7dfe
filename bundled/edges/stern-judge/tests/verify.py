"""Needs more than twice the memory of the task's spec, on purpose: the judge is the one killed.

Both files become lists of dictionaries before the first comparison.
"""

from grade import APP, answer, grade

MOST_BYTES = 10_000_000


def numbered() -> list[dict[str, object]]:
    """What the answer should hold."""
    with open(f"{APP}/poem.txt", encoding="ascii") as file:
        return [{"number": n, "line": line} for n, line in enumerate(file, start=1)]


def given() -> list[dict[str, object]]:
    """What the answer holds."""
    with open(answer("numbered.txt", MOST_BYTES), encoding="ascii") as file:
        rows = [line.split("\t") for line in file]
    return [{"number": int(number), "line": line} for number, line in rows]


def score() -> float:
    right, answered = numbered(), given()
    hits = sum(one == other for one, other in zip(right, answered, strict=False))
    return hits / max(len(right), len(answered))


if __name__ == "__main__":
    grade(score)
