"""Names fit for images, pods, labels, paths and one-line keys."""

import re
from collections.abc import Collection

FOREIGN = re.compile(r"[^a-z0-9._-]+")
LONGEST = 60


def slug(text: str) -> str:
    """Lower case; runs of anything but letters, digits, dot, dash and underscore become a dash.

    At most 60 characters; never empty. Two texts may give one slug: see `unique`.

    >>> slug("Fix the Ünit tests!")
    'fix-the-nit-tests'
    """
    return FOREIGN.sub("-", text.lower())[:LONGEST].strip("._-") or "unnamed"


def unique(name: str, mark: str, taken: Collection[str]) -> str:
    """`name`, or if that is taken `name-mark`, or if that is taken too `name-mark-2` and so on.

    >>> unique("a", "3f", {"a", "a-3f"})
    'a-3f-2'
    """
    marked = f"{name}-{mark}"
    candidate, number = name, 1
    while candidate in taken:
        candidate = marked if number == 1 else f"{marked}-{number}"
        number += 1
    return candidate
