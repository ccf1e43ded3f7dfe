"""An experiment from TOML text: every key has a default but `tasks`; an unknown key is an error."""

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from .band import Band
from .entry import BUILT_IN, Entry
from .errors import DesignError, ExperimentFileError
from .experiment import Experiment


def load_experiment(path: Path) -> Experiment:
    """The experiment in a TOML file; `name` defaults to the file's stem.

    Raises:
        ExperimentFileError: names the file, the key, what was found and what was expected.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ExperimentFileError(path, "", "no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentFileError(path, "", f"cannot be read: {error}") from error
    return parse_experiment(text, where=path, default_name=path.stem)


def parse_experiment(text: str, *, where: Path | str, default_name: str) -> Experiment:
    """The experiment in a TOML text; `where` is the place that errors name.

    Raises:
        ExperimentFileError
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ExperimentFileError(where, "", f"is not TOML: {error}") from error
    table.setdefault("name", default_name)
    if "bands" in table:
        table["bands"] = _bands(table["bands"], where)
    if isinstance(table.get("entries"), list):
        table["entries"] = [one for entry in table["entries"] for one in _by_model(entry, where)]
    try:
        experiment = Experiment.model_validate(table)
    except ValidationError as error:
        raise _explained(error, table, where) from error
    for place, entry in enumerate(experiment.entries):
        _check_agent(entry, where, f"entries.{place}.agent")
    return experiment


def _check_agent(entry: Entry, where: Path | str, key: str) -> None:
    if entry.agent in BUILT_IN or ":" in entry.agent:
        return
    near = get_close_matches(entry.agent, BUILT_IN, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    known = ", ".join(BUILT_IN)
    expected = f"no agent {entry.agent!r}; {hint}there are {known}, or your own <module>:<Class>"
    raise ExperimentFileError(where, key, expected)


def _bands(raw: object, where: Path | str) -> object:
    if not isinstance(raw, list):
        return raw
    try:
        return [Band.shorthand(item) if isinstance(item, str) else item for item in raw]
    except DesignError as error:
        raise ExperimentFileError(where, "bands", str(error).removeprefix("bands: ")) from error


def _by_model(entry: object, where: Path | str) -> list[object]:
    """An entry with `models = [...]` is one entry for each of them."""
    if not isinstance(entry, dict) or "models" not in entry:
        return [entry]
    names = entry["models"]
    if not isinstance(names, list) or not names or "model" in entry:
        raise ExperimentFileError(
            where, "entries.models", 'give a list of models, models = ["a", "b"], and no model'
        )
    rest = {key: value for key, value in entry.items() if key != "models"}
    label = {"name": f"{rest['name']}/{{}}"} if rest.get("name") else {}
    return [
        rest | {"model": name} | {key: text.format(name) for key, text in label.items()}
        for name in names
    ]


def _explained(
    error: ValidationError, table: Mapping[str, Any], where: Path | str
) -> ExperimentFileError:
    faults = error.errors(include_url=False)
    # A misspelt key also makes the right one missing: tell of the spelling.
    first = next((f for f in faults if f["type"] == "extra_forbidden"), faults[0])
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return ExperimentFileError(where, key, 'is required; for example tasks = ["my-tasks/*"]')
    if first["type"] == "extra_forbidden":
        return ExperimentFileError(where, key, _did_you_mean(first["loc"]))
    found = first["input"]
    shown = f" (found {found!r})" if not isinstance(found, dict | list) else ""
    return ExperimentFileError(where, key, first["msg"].removeprefix("Value error, ") + shown)


def _did_you_mean(loc: tuple[int | str, ...]) -> str:
    known = sorted(_fields_at(Experiment, loc[:-1]))
    near = get_close_matches(str(loc[-1]), known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown key; {hint}known here: {', '.join(known)}"


def _fields_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    for part in loc:
        if isinstance(part, str) and part in model.model_fields:
            inner = _model_in(model.model_fields[part].annotation)
            if inner is None:
                return []
            model = inner
    return list(model.model_fields)


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
