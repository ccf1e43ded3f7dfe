"""Where a machine keeps what it can make again."""

from collections.abc import Mapping
from pathlib import Path


def cache_folder(environ: Mapping[str, str]) -> Path:
    """`XDG_CACHE_HOME`, else `~/.cache`, under `infranoise`; it may not exist.

    Source: the XDG base directory specification, version 0.8.
    """
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "infranoise"
