"""Writes ledger.json: one JSON array on one line. Usage: generate.py DIRECTORY"""

import random
import sys

BOOKINGS = 62_000
ACCOUNTS = 240


def main(directory: str) -> None:
    rng = random.Random(20260101)
    with open(f"{directory}/ledger.json", "w", encoding="ascii") as file:
        separator = "["
        for number in range(BOOKINGS):
            account = int(rng.random() ** 2 * ACCOUNTS)
            cents = int(rng.random() * 400_000) - 200_000
            void = "true" if rng.random() < 0.05 else "false"
            file.write(
                f'{separator}{{"account":"AC-{account:03}","cents":{cents},'
                f'"void":{void},"memo":"booking {number}"}}'
            )
            separator = ","
        file.write("]")


if __name__ == "__main__":
    main(sys.argv[1])
