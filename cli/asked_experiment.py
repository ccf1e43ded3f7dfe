"""The experiment that a command was asked for: a file's, or a bundled one by its name."""

from importlib.resources import files
from pathlib import Path

from ..models.errors import DesignError
from ..models.experiment import Experiment
from ..models.experiment_file import load_experiment, parse_experiment
from .settle import BUNDLED

EXPERIMENTS = {"bundled:headroom": "demo.toml"}


def asked_experiment(file: Path, runtime: str | None = None) -> tuple[Experiment, Path]:
    """The experiment, and the folder below which its tasks are looked for.

    Args:
        runtime: what the command line asks for; a bundled experiment is fitted to it.
    Raises:
        DesignError: no bundled experiment bears that name, or the file is no experiment.
    """
    name = str(file)
    if not name.startswith(BUNDLED):
        return load_experiment(file), file.parent
    if name not in EXPERIMENTS:
        raise DesignError(f"{name}: bundled experiments are {', '.join(EXPERIMENTS)}")
    return bundled_experiment(name, runtime), Path.cwd()


def bundled_experiment(name: str, runtime: str | None = None) -> Experiment:
    """A bundled experiment, by its name in `EXPERIMENTS`; with a network where pods cannot be
    promised to have none."""
    text = (files("infranoise.bundled") / EXPERIMENTS[name]).read_text(encoding="utf-8")
    default = name.removeprefix(BUNDLED)
    where = f"the bundled {EXPERIMENTS[name]}"
    experiment = parse_experiment(text, where=where, default_name=default)
    if runtime != "kubernetes":
        return experiment
    pods = experiment.pods.model_copy(update={"network": "public"})
    return experiment.model_copy(update={"pods": pods})
