"""Settings of agents and models as options of an entry: scalars that are nobody's secret."""

from ..models.secrecy import is_secret
from .bounded import Where
from .fields import part
from .labels import short


def settings(path: Where, place: str, value: object) -> dict[str, str | int | float | bool]:
    """The settings in an object; none where there is none.

    Raises:
        SourceFault: something else stands there.
    """
    return {
        short(key, 60): short(one, 60) if isinstance(one, str) else one
        for key, one in part(path, place, value).items()
        if isinstance(one, str | int | float | bool) and not is_secret(key, one)
    }
