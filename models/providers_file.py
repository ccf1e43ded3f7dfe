"""The `[providers]` of a TOML file: an experiment's, or a file of a gateway's own."""

import tomllib
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from .errors import ExperimentFileError
from .provider import Provider

PROVIDERS = TypeAdapter(dict[str, Provider])


def load_providers(path: Path) -> dict[str, Provider]:
    """The providers that a file names; the rest of the file is not looked at.

    Raises:
        ExperimentFileError: no such file, not TOML, no providers, or one that is not right.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ExperimentFileError(path, "", "no such file") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ExperimentFileError(path, "", f"cannot be read as TOML: {error}") from error
    raw = table.get("providers")
    if not raw:
        raise ExperimentFileError(
            path, "providers", 'names none; add [providers.NAME] with dialect = "anthropic" …'
        )
    try:
        return PROVIDERS.validate_python(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(["providers", *map(str, first["loc"])])
        raise ExperimentFileError(path, key, first["msg"]) from error
