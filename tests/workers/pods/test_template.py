"""Laying out a task's plain files, hostile ones included."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path, PurePosixPath

import pytest

from infranoise.models.errors import ImageBuildFailed, PodLost, Refused
from infranoise.workers.pods.process import private_tree, template
from infranoise.workers.pods.process.userland import of_host

BASE = "FROM python:3.12-slim\n"
FILES = {"a.py": "a", "b.py": "b", "folder/c.txt": "c", "folder/deep/d.txt": "d", "run.sh": "r"}


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    folder = tmp_path / "environment"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    return folder


def lay(environment: Path, lines: str) -> Path:
    (environment / "Dockerfile").write_text(BASE + lines)
    return template.build(environment.parent / "state", environment, lines).root


def files(root: Path) -> dict[str, str]:
    found = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(root).as_posix(): path.read_text() for path in found}


LAYOUTS = {
    "COPY a.py /x/y.py": {"x/y.py": "a"},
    "COPY a.py /x/": {"x/a.py": "a"},
    "COPY a.py b.py /x/": {"x/a.py": "a", "x/b.py": "b"},
    "COPY *.py /x/": {"x/a.py": "a", "x/b.py": "b"},
    "COPY folder /x": {"x/c.txt": "c", "x/deep/d.txt": "d"},
    "COPY folder/ /x/": {"x/c.txt": "c", "x/deep/d.txt": "d"},
    "COPY fold*/deep /x": {"x/d.txt": "d"},
    "WORKDIR /w\nCOPY a.py .": {"w/a.py": "a"},
    "WORKDIR /w\nCOPY a.py /w": {"w/a.py": "a"},
    "COPY a.py /x\nCOPY b.py /x": {"x": "b"},
    "COPY folder /x\nCOPY a.py /x/deep/": {"x/c.txt": "c", "x/deep/d.txt": "d", "x/deep/a.py": "a"},
}


@pytest.mark.parametrize("lines", sorted(LAYOUTS))
def test_copies_land_where_docker_puts_them(environment: Path, lines: str) -> None:
    assert files(lay(environment, lines)) == LAYOUTS[lines]


def test_modes_are_kept_or_set(environment: Path) -> None:
    (environment / "run.sh").chmod(0o750)
    root = lay(environment, "COPY run.sh /kept\nCOPY --chmod=711 run.sh /set\n")
    assert [(root / name).stat().st_mode & 0o777 for name in ("kept", "set")] == [0o750, 0o711]


def test_an_empty_folder_and_the_environment_are_kept(environment: Path) -> None:
    lines = "WORKDIR /made/here\nENV A=1 PATH=/mine:$PATH\n"
    root = lay(environment, lines)
    made = template.load(environment.parent / "state", lines)
    assert (root / "made/here").is_dir()
    assert (made.workdir, made.env["A"]) == ("/made/here", "1")
    assert made.env["PATH"].startswith("/mine:/opt/infranoise/bin:")


def test_a_link_is_copied_as_a_link(environment: Path) -> None:
    (environment / "link").symlink_to("../outside/secret")
    root = lay(environment, "COPY link /x\nCOPY . /all\n")
    assert (root / "x").readlink() == (root / "all/link").readlink() == Path("../outside/secret")


@pytest.mark.parametrize("source", ["out/secret", "out/*", "o*/secret"])
def test_a_source_behind_a_link_out_of_the_environment_is_no_source(
    environment: Path, source: str
) -> None:
    (environment / "out").symlink_to(environment.parent / "outside")
    with pytest.raises(ImageBuildFailed):
        lay(environment, f"COPY {source} /x/\n")


@pytest.mark.parametrize(
    "lines",
    [
        "COPY trap /app/\nCOPY a.py /app/out/secret\n",
        "COPY trap /app/\nCOPY folder /app/out\n",
        "COPY trap /app/\nWORKDIR /app/out/new\n",
        "COPY trap/file /app/target\nCOPY a.py /app/target\n",
    ],
)
def test_nothing_is_written_through_a_link_that_the_task_brought(
    environment: Path, lines: str
) -> None:
    outside = environment.parent / "outside"
    (environment / "trap").mkdir()
    (environment / "trap" / "out").symlink_to(outside)
    (environment / "trap" / "file").symlink_to(outside / "secret")
    with suppress(ImageBuildFailed):
        lay(environment, lines)
    assert files(outside) == {"secret": "secret"}


@pytest.mark.parametrize("place", ["dev/fd", "opt/infranoise/bin/python3", "bin", "etc", "tmp"])
def test_a_pod_s_own_links_and_folders_cannot_be_turned_against_the_machine(
    environment: Path, place: str
) -> None:
    outside = environment.parent / "outside"
    (environment / "root" / place).parent.mkdir(parents=True)
    (environment / "root" / place).symlink_to(outside)
    below = environment / "more" / place
    below.mkdir(parents=True)
    (below / "1").write_text("planted")
    for lines in ("COPY root /\n", "COPY more /\n"):
        tree = environment.parent / f"tree-{lines.split()[1]}"
        tree.mkdir()
        private_tree.furnish(tree, of_host(), None)
        with suppress(PodLost):  # a start that fails is no harm
            private_tree.settle(tree, lay(environment, lines), PurePosixPath("/w"), None)
    assert files(outside) == {"secret": "secret"}


def test_many_builders_build_once(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Path] = []
    lay_out = template._lay_out

    def counted(folder: Path, source: Path) -> None:
        built.append(folder)
        lay_out(folder, source)

    monkeypatch.setattr(template, "_lay_out", counted)
    (environment / "Dockerfile").write_text(BASE + "COPY . /x\n")
    state = environment.parent / "state"
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: template.build(state, environment, "hash"), range(8)))
    assert len(built) == 1
    assert {one.id for one in made} == {"process:hash"}


def test_what_a_dead_builder_left_is_built_anew(environment: Path) -> None:
    left = environment.parent / "state" / "templates" / "hash" / "root"
    left.mkdir(parents=True)
    (left / "half").touch()
    (environment / "Dockerfile").write_text(BASE + "COPY a.py /\n")
    made = template.build(environment.parent / "state", environment, "hash")
    assert files(made.root) == {"a.py": "a"}


REFUSALS = {
    "docker-compose.yaml": "several containers",
    ".dockerignore": ".dockerignore",
}


@pytest.mark.parametrize("name", sorted(REFUSALS))
def test_files_that_change_a_build_are_refused(environment: Path, name: str) -> None:
    (environment / "Dockerfile").write_text(BASE)
    assert template.refusal(environment, None) is None
    (environment / name).write_text("")
    assert REFUSALS[name] in str(template.refusal(environment, None))
    assert 'runtime = "docker"' in str(template.refusal(environment, None))


def test_building_what_is_refused_raises(environment: Path) -> None:
    with pytest.raises(Refused, match="RUN"):
        lay(environment, "RUN true\n")
