"""The experiment that a command was asked for: a file's, or a bundled one by its name."""

from importlib.resources import files
from pathlib import Path

from ..models.errors import DesignError
from ..models.experiment import Experiment
from ..models.experiment_file import load_experiment, parse_experiment
from .settle import BUNDLED

EXPERIMENTS = {"bundled:headroom": "demo.toml"}


def asked_experiment(file: Path) -> tuple[Experiment, Path]:
    """The experiment, and the folder below which its tasks are looked for.

    Raises:
        DesignError: no bundled experiment bears that name, or the file is no experiment.
    """
    name = str(file)
    if not name.startswith(BUNDLED):
        return load_experiment(file), file.parent
    if name not in EXPERIMENTS:
        raise DesignError(f"{name}: bundled experiments are {', '.join(EXPERIMENTS)}")
    return bundled_experiment(name), Path.cwd()


def bundled_experiment(name: str) -> Experiment:
    """A bundled experiment, by its name in `EXPERIMENTS`."""
    text = (files("infranoise.bundled") / EXPERIMENTS[name]).read_text(encoding="utf-8")
    default = name.removeprefix(BUNDLED)
    return parse_experiment(text, where=f"the bundled {EXPERIMENTS[name]}", default_name=default)
