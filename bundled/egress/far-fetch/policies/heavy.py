"""Fetches the bytes five times, and takes the seal that most of the fetches agree on."""

import hashlib
import os
from collections import Counter
from http.client import HTTPConnection
from urllib.parse import urlsplit

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"
FETCHES = 5


def fetched(order: int) -> str:
    """SHA-256 of so many bytes of the server, in hexadecimal digits."""
    url = urlsplit(os.environ["INFRANOISE_PEER_URL"])
    link = HTTPConnection(url.hostname or "", url.port)
    link.request("GET", f"/bytes/{order}")
    body = link.getresponse().read()
    link.close()
    return hashlib.sha256(body).hexdigest()


if __name__ == "__main__":
    with open(f"{APP}/order.txt", encoding="ascii") as file:
        ordered = int(file.read())
    seals = Counter(fetched(ordered) for _ in range(FETCHES))
    with open(f"{APP}/seal.txt", "w", encoding="ascii") as out:
        out.write(f"{seals.most_common(1)[0][0]}\n")
