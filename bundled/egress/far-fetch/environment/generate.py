"""Writes order.txt, how many bytes to fetch. Usage: generate.py DIRECTORY"""

import sys

ORDER_BYTES = 2_500_000  # 20 Mbit: two seconds at 10 Mbit/s, ten at 2


def main(directory: str) -> None:
    with open(f"{directory}/order.txt", "w", encoding="ascii") as file:
        file.write(f"{ORDER_BYTES}\n")


if __name__ == "__main__":
    main(sys.argv[1])
