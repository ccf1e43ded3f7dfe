"""Fetches the bytes once and seals them as they come."""

import hashlib
import os
from http.client import HTTPConnection
from urllib.parse import urlsplit

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def fetched() -> str:
    """SHA-256 of the bytes that were ordered, in hexadecimal digits."""
    with open(f"{APP}/order.txt", encoding="ascii") as file:
        order = int(file.read())
    url = urlsplit(os.environ["INFRANOISE_PEER_URL"])
    link = HTTPConnection(url.hostname or "", url.port)
    link.request("GET", f"/bytes/{order}")
    answer, seal = link.getresponse(), hashlib.sha256()
    while piece := answer.read(1 << 16):
        seal.update(piece)
    link.close()
    return seal.hexdigest()


if __name__ == "__main__":
    digits = fetched()
    with open(f"{APP}/seal.txt", "w", encoding="ascii") as out:
        out.write(f"{digits}\n")
