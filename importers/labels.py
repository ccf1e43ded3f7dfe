"""Names from outside as labels of ours: of tasks, entries, runs and bands."""

import re
from functools import lru_cache

from ..models.errors import SourceFault
from .bounded import Where

LONGEST = 300
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
UNFIT_IN_BAND = re.compile(r"[^\w.+-]+")
LONGEST_BAND = 40


def label(path: Where, place: str, value: object) -> str:
    """A name as a label.

    Raises:
        SourceFault: it is no text or number, empty, too long, holds control characters, or climbs
            out of its folder with `..`.

    >>> label("r.json", "task_id", "hello-world")
    'hello-world'
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise SourceFault(path, place, f"a name belongs here, not {value!r:.60}")
    text = str(value).strip()
    if problem := _problem(text):
        raise SourceFault(path, place, problem)
    return text


@lru_cache(maxsize=4096)
def _problem(text: str) -> str:
    """What keeps a text from being a label; "" where nothing does."""
    if not text or len(text) > LONGEST:
        return f"a name of 1 to {LONGEST} characters belongs here"
    if CONTROL.search(text):
        return f"the name {text!r:.80} holds control characters"
    if ".." in text.replace("\\", "/").split("/"):
        return f"the name {text!r:.80} climbs out of its folder with '..'"
    return ""


def band_label(text: str) -> str:
    """A text as the name of a band: unfit characters become dashes.

    >>> band_label("docker, memory 4096 MB")
    'docker-memory-4096-MB'
    """
    name = UNFIT_IN_BAND.sub("-", text).strip("-+.")[:LONGEST_BAND].rstrip("-+.")
    return name or "unrecorded"


def short(text: object, most: int = 300) -> str:
    """A message of others, on one line and of bounded length."""
    line = CONTROL.sub(" ", str(text)[: 4 * most]).strip()
    return line if len(line) <= most else f"{line[: most - 1]}…"
