"""Turns every request into a dictionary, groups these by client, and counts at last."""

import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"
FIELDS = (
    *("client", "port", "user", "day", "time", "zone"),
    *("method", "path", "protocol", "status", "bytes", "milliseconds"),
)


def main() -> None:
    with open(f"{APP}/access.log", encoding="ascii") as file:
        log = [dict(zip(FIELDS, line.split(" "), strict=True)) for line in file]
    by_client: dict[str, list[dict[str, str]]] = {}
    for request in log:
        if request["status"] == "200":
            by_client.setdefault(request["client"], []).append(request)
    ranking = sorted(by_client.items(), key=lambda item: (-len(item[1]), item[0]))
    with open(f"{APP}/clients.txt", "w", encoding="ascii") as file:
        file.writelines(f"{client} {len(requests)}\n" for client, requests in ranking[:20])


if __name__ == "__main__":
    main()
