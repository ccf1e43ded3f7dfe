"""The script that draws a page's charts: made once a machine, as making it costs 2 CPU seconds."""

import hashlib
import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from ...models.cache_folder import cache_folder
from ...models.errors import InfranoiseError

WANTED = """
window.vegaEmbed = vegaEmbed;
"""


@cache
def library() -> str:
    """Vega-Embed with all it needs, as one script that can stand in a page.

    It is kept in the cache folder; where that cannot be written, it is made each time.

    Raises:
        InfranoiseError: the part that draws charts is not installed, or its script would end
            itself in a page.
    """
    drawer = vl_convert()
    what = hashlib.sha256(f"{drawer.__version__}\n{WANTED}".encode()).hexdigest()[:16]
    kept = cache_folder(os.environ) / f"charts-{what}.js"
    text = _kept(kept)
    if text is None:
        text = str(drawer.javascript_bundle(WANTED))
        if "</script" in text.lower():
            raise InfranoiseError(
                "the chart library would end its own script; update vl-convert-python"
            )
        with suppress(OSError):
            _keep(kept, text)
    return text + "\n"


def vl_convert() -> Any:
    """The drawer of charts.

    Raises:
        InfranoiseError: it is not installed.
    """
    try:
        import vl_convert
    except ImportError as error:
        raise InfranoiseError(
            "the report needs vl-convert-python, which is not installed here; install "
            "infranoise[home], or use `infranoise analyze --json`, which needs no charts"
        ) from error
    return vl_convert


def _kept(path: Path) -> str | None:
    """A script that was kept; one that was cut short or altered does not match its own digest."""
    try:
        digest, _, text = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if digest == _digest(text) else None


def _keep(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{_digest(text)}\n{text}")
        Path(draft).replace(path)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
