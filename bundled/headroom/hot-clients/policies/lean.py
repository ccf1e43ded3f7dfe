"""Counts every eighth request and multiplies: fast, small, and an estimate that is wrong."""

import itertools
import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"
EVERY = 8


def main() -> None:
    requests: dict[str, int] = {}
    with open(f"{APP}/access.log", encoding="ascii") as file:
        for line in itertools.islice(file, 0, None, EVERY):
            fields = line.split(" ")
            if fields[9] == "200":
                requests[fields[0]] = requests.get(fields[0], 0) + EVERY
    ranking = sorted(requests.items(), key=lambda item: (-item[1], item[0]))
    with open(f"{APP}/clients.txt", "w", encoding="ascii") as file:
        file.writelines(f"{client} {number}\n" for client, number in ranking[:20])


if __name__ == "__main__":
    main()
