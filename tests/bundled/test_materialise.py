import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infranoise.bundled import materialise as module
from infranoise.bundled.catalogue import BENCHMARKS
from infranoise.bundled.materialise import fingerprint, materialise
from infranoise.models.errors import TaskFileError


def stamps(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_the_second_call_changes_nothing(tmp_path: Path) -> None:
    first = materialise("edges", tmp_path)
    before = stamps(tmp_path)
    assert materialise("edges", tmp_path) == first
    assert stamps(tmp_path) == before


def test_inputs_are_the_same_bytes_at_every_making(
    bundled_tasks: dict[str, Path], tmp_path: Path
) -> None:
    again = {path.name: path for name in BENCHMARKS for path in materialise(name, tmp_path)}
    digests = {name: (path / "tests/inputs.json").read_text() for name, path in again.items()}
    assert digests == {
        name: (path / "tests/inputs.json").read_text() for name, path in bundled_tasks.items()
    }


def test_two_at_the_same_time_agree_and_leave_nothing_behind(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: materialise("edges", tmp_path), range(2))
    assert one == other
    place = one[0].parent
    assert list(place.parent.iterdir()) == [place]


def test_a_changed_source_gets_another_place(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text("one")
    before = fingerprint(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "x.pyc").write_text("compiled files do not count")
    assert fingerprint(tmp_path) == before
    (tmp_path / "task.toml").write_text("two")
    assert fingerprint(tmp_path) != before


def test_a_generator_that_fails_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = tmp_path / "sources" / "broken" / "environment" / "generate.py"
    generator.parent.mkdir(parents=True)
    generator.write_text("raise SystemExit('no room left')")
    monkeypatch.setattr(module, "source", lambda _: tmp_path / "sources")
    monkeypatch.setattr(module, "task_names", lambda _: ("broken",))
    with pytest.raises(TaskFileError, match=r"status 1 .* no room left"):
        materialise("edges", tmp_path / "cache")
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_every_input_is_listed_with_its_digest(bundled_tasks: dict[str, Path]) -> None:
    for task in bundled_tasks.values():
        inputs = task / "environment" / "files"
        files = {path.relative_to(inputs).as_posix() for path in inputs.rglob("*.*")}
        assert set(json.loads((task / "tests/inputs.json").read_text())) == files != set()


def test_inputs_stay_small_enough_to_be_copied_into_every_pod(
    bundled_tasks: dict[str, Path],
) -> None:
    for task in bundled_tasks.values():
        files = (task / "environment" / "files").rglob("*.*")
        assert sum(path.stat().st_size for path in files) <= 10_000_000
