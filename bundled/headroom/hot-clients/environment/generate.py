"""Writes access.log. Usage: generate.py DIRECTORY"""

import random
import sys

REQUESTS = 130_000
CLIENTS = 4_000
STATUS = (200, 200, 200, 304, 404)
METHODS = ("GET", "GET", "GET", "POST", "HEAD")


def main(directory: str) -> None:
    rng = random.Random(20260110)
    clients = [".".join(str(rng.randrange(1, 255)) for _ in range(4)) for _ in range(CLIENTS)]
    columns = zip(
        rng.choices(clients, weights=[1 / (rank + 40) for rank in range(CLIENTS)], k=REQUESTS),
        rng.choices(range(1024, 65_536), k=REQUESTS),
        rng.choices(METHODS, k=REQUESTS),
        rng.choices(range(100, 1000), k=REQUESTS),
        rng.choices(STATUS, k=REQUESTS),
        rng.choices(range(100, 99_999), k=REQUESTS),
        strict=True,
    )
    with open(f"{directory}/access.log", "w", encoding="ascii") as file:
        for second, (client, port, method, page, status, size) in enumerate(columns):
            file.write(
                f"{client} {port} u{page} 0205 {second % 86400:05} +1 {method} /{page} h2 "
                f"{status} {size} {size // 7}\n"
            )


if __name__ == "__main__":
    main(sys.argv[1])
