"""Documents of the ledger as values: one that cannot be read says whose it is and why."""

from pydantic import ValidationError

from ..errors import Unreadable
from ..value import Value


def value_of[V: Value](model: type[V], text: str, whose: str) -> V:
    """The value in a JSON text.

    Args:
        whose: it is, in words.
    Raises:
        Unreadable: another release wrote it, mostly.
    """
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        raise Unreadable(
            f"{whose} cannot be read here ({where}: {first['msg']}): another release of infranoise "
            "wrote it; install that one on this machine"
        ) from error
