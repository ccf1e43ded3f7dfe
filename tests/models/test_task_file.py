"""A task's folder, as it is found on disk."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from infranoise.models.errors import TaskFileError
from infranoise.models.task import Task
from infranoise.models.task_file import load_task


def write(folder: Path, **files: str) -> Path:
    """A folder with files; `__` in a keyword stands for `/`, a last `_x` for `.x`."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(
        tmp_path / "Suite One" / "Fix It",
        task_toml='version = "1.0"',
        instruction_md="do it",
        environment__Dockerfile="FROM scratch",
        tests__test_sh="true",
        solution__solve_sh="true",
    )


def test_a_plain_task_loads(folder: Path) -> None:
    task = load_task(folder)
    assert (task.name, task.title, task.directory) == ("suite-one/fix-it", "Fix It", folder)
    assert (task.has_dockerfile, task.has_solution, task.has_instruction) == (True, True, True)
    assert (task.multi_container, task.relocatable, task.warnings) == (False, False, ())
    assert task.environment / "Dockerfile" == folder / "environment" / "Dockerfile"


def test_the_author_may_name_it_otherwise(folder: Path) -> None:
    write(folder, task_toml='[task]\nname = "Not an org/name at all"')
    assert load_task(folder).title == "Not an org/name at all"


def test_a_task_survives_the_wire(folder: Path) -> None:
    task = load_task(folder)
    assert Task.model_validate_json(task.model_dump_json()) == task


def test_the_content_hash_covers_the_verifier_and_the_environment_hash_does_not(
    folder: Path,
) -> None:
    before = load_task(folder)
    write(folder, tests__test_sh="false")
    after = load_task(folder)
    assert after.content_hash != before.content_hash
    assert after.environment_hash == before.environment_hash


@pytest.mark.parametrize(
    "files",
    [{"environment__extra": "x"}, {"task_toml": '[environment]\ndocker_image = "org/it:2"'}],
    ids=["a file more", "another image"],
)
def test_what_the_image_is_made_of_is_the_environment_hash(
    folder: Path, files: dict[str, str]
) -> None:
    before = load_task(folder)
    assert load_task(write(folder, **files)).environment_hash != before.environment_hash


def remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def replace_by(**files: str) -> Callable[[Path], object]:
    return lambda folder: write(folder, **files)


def with_image(folder: Path) -> None:
    remove("environment/Dockerfile")(folder)
    write(folder, task_toml='[environment]\ndocker_image = "org/it"')


def with_plain_files(folder: Path) -> None:
    remove("environment/Dockerfile")(folder)
    write(folder, task_toml="[metadata]\nrelocatable = true")


def backslashes(folder: Path) -> None:
    (folder / "environment" / "a\\b.txt").touch()


def not_executable(folder: Path) -> None:
    (folder / "tests" / "test.sh").chmod(0o644)


LEGAL: dict[str, tuple[Callable[[Path], object], dict[str, object]]] = {
    "no solution": (remove("solution/solve.sh"), {"has_solution": False}),
    "an image and no Dockerfile": (with_image, {"image": "org/it", "has_dockerfile": False}),
    "plain files": (with_plain_files, {"relocatable": True, "has_dockerfile": False}),
    "several containers": (
        replace_by(**{"environment__docker-compose_yaml": "services: {}"}),
        {"multi_container": True},
    ),
    "another compose file is puzzle material": (
        replace_by(**{"environment__docker-compose_yml": "services: {}"}),
        {"multi_container": False},
    ),
    "literal backslashes in names": (backslashes, {"has_dockerfile": True}),
    "a test that is not executable": (not_executable, {"has_instruction": True}),
    "a byte order mark": (replace_by(task_toml='\ufeffversion = "1.1"'), {"schema_version": "1.1"}),
    "CRLF": (replace_by(task_toml="[agent]\r\nuser = 7\r\n"), {"agent_user": "7"}),
}


@pytest.mark.parametrize(("change", "facts"), LEGAL.values(), ids=LEGAL)
def test_odd_but_legal(
    folder: Path, change: Callable[[Path], object], facts: dict[str, object]
) -> None:
    change(folder)
    task = load_task(folder)
    assert {name: getattr(task, name) for name in facts} == facts
    assert task.warnings == ()


def test_a_missing_instruction_is_a_warning(folder: Path) -> None:
    (folder / "instruction.md").unlink()
    task = load_task(folder)
    assert not task.has_instruction
    assert task.warnings == ("instruction.md is missing: an agent would be told nothing",)


def test_steps_have_tests_and_solutions_of_their_own(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "task",
        task_toml='[[steps]]\nname = "one"\n[environment]\ndocker_image = "i"',
        steps__one__tests__test_sh="true",
        steps__one__solution__solve_sh="true",
    )
    task = load_task(folder)
    assert len(task.steps) == 1
    assert task.has_solution
    assert task.warnings == ()


def not_text(folder: Path) -> None:
    (folder / "task.toml").write_bytes(b"\xff\xfe")


def a_step_without_tests(folder: Path) -> None:
    (folder / "tests" / "test.sh").unlink()
    write(folder, task_toml='[[steps]]\nname = "s"')


def with_a_fifo(folder: Path) -> None:
    os.mkfifo(folder / "environment" / "pipe")


FAULTS: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "no task.toml": (remove("task.toml"), "task.toml", "no such file"),
    "no TOML": (replace_by(task_toml="a = = 1"), "task.toml", "not TOML"),
    "no text": (not_text, "task.toml", "UTF-8"),
    "nothing to run in": (remove("environment/Dockerfile"), "Dockerfile", "docker_image"),
    "nothing to score with": (remove("tests/test.sh"), "tests/test.sh", "nothing scores"),
    "a step without a test": (
        a_step_without_tests,
        "steps/s/tests/test.sh",
        "nothing scores",
    ),
    "a fifo": (with_a_fifo, "Fix It", "neither a file"),
}


@pytest.mark.parametrize(("change", "file", "expected"), FAULTS.values(), ids=FAULTS)
def test_what_cannot_be_run_is_one_clear_error(
    folder: Path, change: Callable[[Path], object], file: str, expected: str
) -> None:
    change(folder)
    with pytest.raises(TaskFileError, match=expected) as caught:
        load_task(folder)
    assert str(caught.value.path).endswith(file)


def test_env_tables_stay_as_written_and_unset_variables_are_named(folder: Path) -> None:
    write(folder, task_toml='[environment.env]\nKEY = "${SECRET}"\nURL = "${AT:-http://x}"')
    assert load_task(folder).unresolved == ("SECRET",)
    filled = load_task(folder, environ={"SECRET": "s"})
    assert filled.unresolved == ()
    assert filled.env == {"KEY": "${SECRET}", "URL": "${AT:-http://x}"}
