"""From the sources of a bundled benchmark to complete task directories.

A source folder holds what people write; this adds what is computed or shared:

    environment/files/   what environment/generate.py writes; the Dockerfile copies it to /app
    tests/inputs.json    SHA-256 of each of these files, so that a verifier can trust them
    tests/grade.py       the part that all verifiers share
    policies/            run.sh and mixed.py, and the solution's scripts unless the task has others
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..models.errors import TaskFileError
from .catalogue import SHARED, source, task_names

NO_BYTECODE = shutil.ignore_patterns("__pycache__")


def materialise(benchmark: str, cache_dir: Path) -> tuple[Path, ...]:
    """Complete task directories of a benchmark, sorted by name; made once per content of sources.

    Several processes may call this at the same time: each builds aside, and the first rename wins.

    Args:
        benchmark: "headroom", "edges" or "egress".
        cache_dir: where the directories are kept; made if missing.
    Raises:
        DesignError: no such benchmark.
        TaskFileError: a generator failed.
    """
    sources = source(benchmark)
    # The last folder bears the benchmark's name: tasks are named after it.
    place = cache_dir / fingerprint(sources, SHARED) / benchmark
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        _build(benchmark, sources, place)
    return tuple(place / name for name in task_names(benchmark))


def fingerprint(*folders: Path) -> str:
    """16 hex digits that stand for the names and contents of all files in these folders."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in _files(folder):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _build(benchmark: str, sources: Path, place: Path) -> None:
    aside = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}-"))
    try:
        aside.chmod(0o755)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            names = task_names(benchmark)
            list(pool.map(lambda name: _complete(sources / name, aside / name), names))
        _rename_unless_there(aside, place)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _rename_unless_there(aside: Path, place: Path) -> None:
    try:
        aside.rename(place)
    except OSError:
        if not place.is_dir():  # else another process was first, with the same content
            raise


def _complete(origin: Path, task: Path) -> None:
    """One task: its source, what is shared, and its inputs."""
    shutil.copytree(origin, task, ignore=NO_BYTECODE)
    shutil.copytree(SHARED, task, ignore=NO_BYTECODE, dirs_exist_ok=True)
    for script in (task / "solution").glob("*.py"):
        if not (task / "policies" / script.name).exists():
            shutil.copy(script, task / "policies")
    inputs = task / "environment" / "files"
    inputs.mkdir()
    _generate(task / "environment" / "generate.py", inputs)
    digests = {
        path.relative_to(inputs).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in _files(inputs)
    }
    (task / "tests" / "inputs.json").write_text(json.dumps(digests, indent=1) + "\n", "ascii")


def _generate(generator: Path, inputs: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", generator, inputs], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        reason = done.stderr.strip()[-500:]
        expected = f"ended with status {done.returncode} instead of writing the inputs: {reason}"
        raise TaskFileError(generator, "", expected)


def _files(folder: Path) -> Iterator[Path]:
    paths = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    return iter(sorted(path for path in paths if path.is_file()))
