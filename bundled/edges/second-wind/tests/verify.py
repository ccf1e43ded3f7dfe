"""Sorts the numbers and measures runs of equal ones."""

from array import array

from grade import APP, counts, grade


def right() -> dict[str, int]:
    with open(f"{APP}/visits.txt", "rb") as file:
        visits = array("i", map(int, file))
    ordered = array("i", sorted(visits))
    visitors = once = run = 0
    for place, visitor in enumerate(ordered, start=1):
        run += 1
        if place == len(ordered) or ordered[place] != visitor:
            visitors, once, run = visitors + 1, once + (run == 1), 0
    return {"visitors": visitors, "once": once}


def score() -> float:
    given = counts("visitors.txt", most_bytes=1_000)
    return sum(given.get(key) == value for key, value in right().items()) / 2


if __name__ == "__main__":
    grade(score)
