"""`${VAR}` and `${VAR:-default}` in the env tables of a task.

A task keeps its tables as written: what the variables hold may be secret, and is filled in only
where a pod starts.
"""

import re
from collections.abc import Mapping

TEMPLATE = re.compile(r"\$\{(?P<name>[^}:]+)(?P<default>:-(?P<text>.*))?\}", re.DOTALL)


def expanded(
    table: Mapping[str, str], environ: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The table with its templates filled in, and the variables that nothing could fill.

    A value is a template when all of it is one; anything else is literal. An entry whose variable
    is unset and has no default is left out of the table, and its variable named.

    >>> expanded({"A": "${X}", "B": "${Y:-2}", "C": "n=${X}"}, {})
    ({'B': '2', 'C': 'n=${X}'}, ('X',))
    """
    filled: dict[str, str] = {}
    unresolved: dict[str, None] = {}
    for key, value in table.items():
        match = TEMPLATE.fullmatch(value)
        if match is None:
            filled[key] = value
        elif match["name"] in environ:
            filled[key] = environ[match["name"]]
        elif match["default"] is not None:
            filled[key] = match["text"]
        else:
            unresolved[match["name"]] = None
    return filled, tuple(unresolved)
