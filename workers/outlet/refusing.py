"""What an outlet cannot be made for: told before anything is started."""

from collections.abc import Iterable

from ...models.allow import AllowList
from .link import why_no_outlets


def refuse_outlet(allow: Iterable[str]) -> str | None:
    """Why a pod here cannot have an outlet with such a list, with the remedy; None if it can."""
    try:
        AllowList.of(allow)
    except ValueError as error:
        return str(error)
    if why := why_no_outlets():
        return f'network = "gateway" needs links that this node makes: {why}'
    return None
