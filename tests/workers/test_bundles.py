"""Tasks on a node: fetched once, checked, and never taken for something else."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infranoise.models.blobs.bundle import pack
from infranoise.models.blobs.place import Blobs, bundle_name
from infranoise.models.errors import StartFailed
from infranoise.models.folder_hash import folder_hash
from infranoise.models.task import Task
from infranoise.models.task_file import load_task
from infranoise.workers.bundles import Bundles


@pytest.fixture
def task(tmp_path: Path) -> Task:
    """A task whose folder is gone: what is left of it is its bundle at `blobs`."""
    folder = tmp_path / "origin" / "task"
    for name, text in {
        "task.toml": 'version = "1.0"\n',
        "instruction.md": "Do it.",
        "environment/Dockerfile": "FROM scratch\n",
        "tests/test.sh": "true",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    loaded = load_task(folder)
    pack(folder, loaded.content_hash, tmp_path / "packed")
    Blobs(str(tmp_path / "blobs")).put(bundle_name(loaded.content_hash), tmp_path / "packed")
    shutil.rmtree(folder)
    return loaded


@pytest.fixture
def bundles(tmp_path: Path) -> Bundles:
    return Bundles(tmp_path / "state")


def test_a_task_is_fetched_by_its_content(task: Task, bundles: Bundles, tmp_path: Path) -> None:
    here = bundles.at_hand(task, str(tmp_path / "blobs"))
    assert here.directory == tmp_path / "state" / task.content_hash
    assert here.instruction.read_text() == "Do it."
    assert here == task.model_copy(update={"directory": here.directory})


def test_a_task_is_fetched_once_for_all_who_want_it(
    task: Task, bundles: Bundles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[str] = []
    get = Blobs.get
    monkeypatch.setattr(Blobs, "get", lambda self, *a: (fetched.append(a[0]), get(self, *a))[1])
    with ThreadPoolExecutor(8) as pool:
        folders = set(
            pool.map(lambda _: bundles.at_hand(task, str(tmp_path / "blobs")).directory, range(8))
        )
    assert len(folders) == 1
    assert fetched == [bundle_name(task.content_hash)]


def test_what_a_worker_before_has_fetched_is_checked_and_used(
    task: Task, bundles: Bundles, tmp_path: Path
) -> None:
    kept = bundles.at_hand(task, str(tmp_path / "blobs")).directory
    shutil.rmtree(tmp_path / "blobs")
    assert Bundles(tmp_path / "state").at_hand(task, str(tmp_path / "blobs")).directory == kept


def test_what_was_changed_on_the_node_is_fetched_anew(
    task: Task, bundles: Bundles, tmp_path: Path
) -> None:
    kept = bundles.at_hand(task, str(tmp_path / "blobs")).directory
    (kept / "tests" / "test.sh").write_text("echo 1 > /logs/verifier/reward.txt")
    again = Bundles(tmp_path / "state").at_hand(task, str(tmp_path / "blobs"))
    assert (again.tests / "test.sh").read_text() == "true"


def test_without_blobs_the_task_is_where_it_says(task: Task, bundles: Bundles) -> None:
    assert bundles.at_hand(task, "") is task


def test_a_node_may_know_another_way_to_the_same_place(task: Task, tmp_path: Path) -> None:
    bundles = Bundles(tmp_path / "state", str(tmp_path / "blobs"))
    assert bundles.at_hand(task, "s3://elsewhere").instruction.exists()


@pytest.mark.parametrize("broken", ["missing", "other"])
def test_a_task_that_cannot_be_had_fails_to_start_and_says_why(
    broken: str, task: Task, bundles: Bundles, tmp_path: Path
) -> None:
    bundle = tmp_path / "blobs" / bundle_name(task.content_hash)
    bundle.unlink()
    if broken == "other":
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "a").touch()
        pack(tmp_path / "other", folder_hash(tmp_path / "other"), bundle)
    words = {"missing": "holds no tasks/", "other": "not the task that was submitted"}
    with pytest.raises(StartFailed, match=words[broken]):
        bundles.at_hand(task, str(tmp_path / "blobs"))
    assert not (tmp_path / "state" / task.content_hash).exists()
