"""Counts visits in one byte per possible visitor."""

import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"
NUMBERS = 1 << 22
MANY = 2


def main() -> None:
    times = bytearray(NUMBERS)
    with open(f"{APP}/visits.txt", "rb") as file:
        for line in file:
            visitor = int(line)
            if times[visitor] < MANY:
                times[visitor] += 1
    with open(f"{APP}/visitors.txt", "w", encoding="ascii") as file:
        file.write(f"visitors {NUMBERS - times.count(0)}\nonce {times.count(1)}\n")


if __name__ == "__main__":
    main()
