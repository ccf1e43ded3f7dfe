"""The experiment file: defaults for all but `tasks`, and faults that name key and remedy."""

from pathlib import Path

import pytest

from infranoise.models.errors import ExperimentFileError
from infranoise.models.experiment import Experiment
from infranoise.models.experiment_file import load_experiment, parse_experiment


def parsed(text: str) -> Experiment:
    return parse_experiment(text, where="e.toml", default_name="e")


def test_every_key_has_a_default_but_tasks() -> None:
    experiment = parsed('tasks = ["a"]')
    assert experiment.name == "e"
    assert [band.name for band in experiment.bands] == ["1x", "1.5x", "2x", "3x", "5x", "uncapped"]
    assert experiment.run.max_attempts == 1


def test_a_whole_file_is_read() -> None:
    experiment = parsed(
        """
        name = "headroom"
        tasks = ["terminal-bench-2/*"]
        samples = 10
        bands = ["1x", "uncapped"]
        [[entries]]
        agent = "command"
        command = ["my-agent", "--go"]
        model = "m-1"
        [factors]
        concurrency = [1, 8]
        time_limit = [1, 2.5]
        [pods]
        runtime = "docker"
        default_spec = { memory_mib = 2048 }
        [run]
        max_attempts = 3
        """
    )
    assert experiment.entries[0].name == "command/m-1"
    assert experiment.factors.concurrency == (1, 8)
    assert experiment.pods.default_spec is not None
    assert experiment.reference.name == "1x"


def test_bands_can_be_tables() -> None:
    experiment = parsed(
        """
        tasks = ["a"]
        [[bands]]
        name = "pinned"
        memory = { floor = 1, ceiling = 3 }
        oom_scope = "pod"
        """
    )
    assert experiment.bands[0].oom_scope == "pod"
    assert experiment.bands[0].headroom == 3


FAULTS = {
    "no tasks": ("samples = 2", "tasks: is required"),
    "a misspelt key": ('tasks = ["a"]\nsample = 2', "sample: unknown key; did you mean 'samples'"),
    "a misspelt key that was needed": ('taks = ["a"]', "taks: unknown key; did you mean 'tasks'"),
    "a misspelt key further in": (
        'tasks = ["a"]\n[run]\nmax_attempt = 2',
        "run.max_attempt: unknown key; did you mean 'max_attempts'",
    ),
    "a key of an entry": (
        'tasks = ["a"]\n[[entries]]\nagent = "nop"\nmodle = "x"',
        "did you mean 'model'",
    ),
    "a value out of range": ('tasks = ["a"]\nsamples = 0', "samples: Input should be greater"),
    "a value of another type": ('tasks = ["a"]\nsamples = "many"', "(found 'many')"),
    "a misspelt agent": (
        'tasks = ["a"]\n[[entries]]\nagent = "nop"\n[[entries]]\nagent = "orcale"',
        "entries.1.agent: no agent 'orcale'; did you mean 'oracle'?",
    ),
    "no such band": ('tasks = ["a"]\nbands = ["x3"]', "bands: 'x3' is no band"),
    "a band twice": ('tasks = ["a"]\nbands = ["1x", "1x"]', "1x named twice"),
    "a ceiling below its floor": (
        'tasks = ["a"]\n[[bands]]\nname = "b"\nmemory = { floor = 2, ceiling = 1 }',
        "raise the ceiling or lower the floor",
    ),
    "a command without words": (
        'tasks = ["a"]\n[[entries]]\nagent = "command"',
        'needs command = ["program"',
    ),
    "a level twice": ('tasks = ["a"]\n[factors]\nconcurrency = [2, 2]', "names a level twice"),
    "not TOML": ("tasks = [", "is not TOML"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_file_key_and_remedy(fault: str) -> None:
    text, words = FAULTS[fault]
    with pytest.raises(ExperimentFileError) as caught:
        parsed(text)
    assert str(caught.value).startswith("e.toml: ")
    assert words in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExperimentFileError, match=r"nowhere\.toml: no such file"):
        load_experiment(tmp_path / "nowhere.toml")


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ExperimentFileError, match="cannot be read"):
        load_experiment(tmp_path / "e.toml")
