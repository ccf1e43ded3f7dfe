"""What the patterns of an experiment find."""

from pathlib import Path

import pytest

from infranoise.models.errors import DesignError
from infranoise.models.task_set import find_tasks


def task(folder: Path, toml: str = "", *, test: str = "true") -> Path:
    (folder / "tests").mkdir(parents=True)
    (folder / "environment").mkdir()
    (folder / "task.toml").write_text(toml)
    (folder / "instruction.md").touch()
    (folder / "tests" / "test.sh").write_text(test)
    (folder / "environment" / "Dockerfile").write_text("FROM scratch")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("bench/one", "bench/two", "other/one", "deep/er/three"):
        task(tmp_path / name)
    (tmp_path / "bench" / "README.md").touch()
    (tmp_path / "empty").mkdir()
    task(tmp_path / "deep" / ".hidden" / "four")
    task(tmp_path / "deep" / "er" / "three" / "tests" / "inner")
    return tmp_path


FOUND = {
    "a task's folder": (["bench/one"], ["bench/one"]),
    "a suite's folder": (["bench"], ["bench/one", "bench/two"]),
    "a glob": (["bench/*"], ["bench/one", "bench/two"]),
    "part of a name": (["bench/t*"], ["bench/two"]),
    "a glob of suites": (["*"], ["bench/one", "bench/two", "er/three", "other/one"]),
    "any depth, without hidden ones and tasks in tasks": (["deep"], ["er/three"]),
    "in the order of the patterns": (["other", "bench/one"], ["other/one", "bench/one"]),
    "each folder once": (["bench/one", "bench", "./bench/*"], ["bench/one", "bench/two"]),
}


@pytest.mark.parametrize(("patterns", "names"), FOUND.values(), ids=FOUND)
def test_patterns_find_tasks(root: Path, patterns: list[str], names: list[str]) -> None:
    found = find_tasks(patterns, root)
    assert [each.name for each in found.tasks] == names
    assert found.malformed == ()


def test_an_absolute_pattern_needs_no_root(root: Path) -> None:
    found = find_tasks([f"{root}/bench/*"], Path("/nowhere"))
    assert [each.name for each in found.tasks] == ["bench/one", "bench/two"]


def test_a_folder_whose_name_looks_like_a_glob_is_itself(tmp_path: Path) -> None:
    task(tmp_path / "v[1]" / "one")
    assert [each.name for each in find_tasks(["v[1]"], tmp_path).tasks] == ["v-1/one"]


def test_one_malformed_task_is_one_fault_and_the_rest_loads(root: Path) -> None:
    (root / "bench" / "one" / "task.toml").write_text("not = = toml")
    found = find_tasks(["bench"], root)
    assert [each.name for each in found.tasks] == ["bench/two"]
    (malformed,) = found.malformed
    assert malformed.name == "bench/one"
    assert malformed.fault.path == root / "bench" / "one" / "task.toml"


def test_tasks_that_would_share_a_name_are_marked_by_their_content(tmp_path: Path) -> None:
    for folder, text in (("a/s/t", "1"), ("b/s/t", "2"), ("c/s/T", "2"), ("d/s/t", "2")):
        task(tmp_path / folder, test=text)
    found = find_tasks(["*"], tmp_path)
    first, *others = (each.name for each in found.tasks)
    mark = found.tasks[1].content_hash[:6]
    assert first == "s/t"
    assert others == [f"s/t-{mark}", f"s/t-{mark}-2", f"s/t-{mark}-3"]


NOTHING = {
    "a slip": ("bnch/*", "no 'bnch' in", "did you mean 'bench'?"),
    "a slip in the task": ("bench/tow", "no 'tow' in", "which holds README.md, one, two"),
    "a folder without tasks": ("empty", "'empty'", "no task.toml"),
    "a file": ("bench/README.md", "README.md", "no task.toml"),
    "far from anything": ("no/such/place", "no 'no' in", "bench"),
}


@pytest.mark.parametrize(("pattern", "what", "instead"), NOTHING.values(), ids=NOTHING)
def test_a_pattern_without_tasks_is_an_error_that_says_what_there_is(
    root: Path, pattern: str, what: str, instead: str
) -> None:
    with pytest.raises(DesignError) as caught:
        find_tasks(["bench", pattern], root)
    assert repr(pattern) in str(caught.value)
    assert what in str(caught.value)
    assert instead in str(caught.value)
