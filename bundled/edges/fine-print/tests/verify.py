"""Decides each day once, in a table of days: a reading beats an estimate."""

from grade import APP, grade, text


def total() -> int:
    estimates: dict[bytes, int] = {}
    readings: dict[bytes, int] = {}
    with open(f"{APP}/meter.txt", "rb") as file:
        for line in file:
            day, litres = line.split()
            table = estimates if litres.endswith(b"*") else readings
            table[day] = int(litres.rstrip(b"*"))
    return sum((estimates | readings).values())


def score() -> float:
    return float(int(text("total.txt", most_bytes=100)) == total())


if __name__ == "__main__":
    grade(score)
