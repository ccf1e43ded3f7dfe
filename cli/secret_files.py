"""Addresses and passwords from files, as containers are given them."""

from collections.abc import Mapping
from pathlib import Path

from ..models.errors import DesignError

NAMES = (
    "INFRANOISE_STORE",
    "INFRANOISE_BROKER_URL",
    "INFRANOISE_FLOWER_AUTH",
    "INFRANOISE_GATEWAY_SECRET",
)


def from_files(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables whose values stand in files: `INFRANOISE_STORE_FILE` names the file of
    `INFRANOISE_STORE`, and so on. A variable that is set itself wins.

    Raises:
        DesignError: a file cannot be read.
    """
    found = {}
    for name in NAMES:
        path = environ.get(f"{name}_FILE")
        if path and name not in environ:
            try:
                found[name] = Path(path).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise DesignError(f"{name}_FILE={path}: cannot be read: {error}") from error
    return found
