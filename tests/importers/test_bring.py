"""Specification of an import as a whole: idempotent, restartable, and looked at before."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine

from infranoise.importers.bring import bring
from infranoise.importers.harbor import HARBOR
from infranoise.importers.inspect_log import INSPECT
from infranoise.importers.kinds import detected
from infranoise.importers.modes import Modes
from infranoise.importers.modes_builtin import BUILT_IN, VERSION
from infranoise.importers.reading import Choices
from infranoise.models.errors import DesignError, SourceFault
from infranoise.models.ledger import reading
from infranoise.models.ledger.adopt import Adoption

from .conftest import Took, harbor_job, harbor_result, inspect_archive, inspect_sample

Take = Callable[..., Took]


def test_the_same_tree_again_or_copied_changes_nothing(take: Take, tmp_path: Path) -> None:
    job = harbor_job(tmp_path / "job", harbor_result("a"), harbor_result("b"))
    before = take("harbor", job)
    assert take("harbor", job).cells == before.cells
    job.rename(tmp_path / "moved")
    again = take("harbor", tmp_path / "moved")
    assert again.cells == before.cells
    assert again.brought.adopted.known == 2
    assert again.brought.source.content_hash == before.brought.source.content_hash


def test_an_import_goes_on_where_a_broken_file_stopped_it(take: Take, tmp_path: Path) -> None:
    inspect_archive(tmp_path / "a.eval", [inspect_sample("a")])
    broken = inspect_archive(tmp_path / "b.eval", [inspect_sample("b1"), inspect_sample("b2", "?")])
    first = take("inspect", tmp_path)
    assert set(first.outcomes) == {"toy/a"}
    broken.unlink()
    inspect_archive(tmp_path / "b.eval", [inspect_sample("b1"), inspect_sample("b2")])
    second = take("inspect", tmp_path)
    assert set(second.outcomes) == {"toy/a", "toy/b1", "toy/b2"}
    assert not second.faults


def test_a_dry_run_tells_the_same_and_writes_nothing(engine: Engine, tmp_path: Path) -> None:
    job = harbor_job(tmp_path / "job", harbor_result("a"), harbor_result("b", reward=0.0))
    choices = Choices(Modes(BUILT_IN["harbor"]))
    looked = bring(HARBOR, [job], choices, None)
    took = bring(HARBOR, [job], choices, Adoption(engine, "x", HARBOR.factors))
    assert looked.source.model_copy(update={"copies": 0}) == took.source
    assert (looked.adopted.new, took.adopted.new) == (0, 2)
    bring(HARBOR, [job], choices, None)
    assert reading.experiments(engine) == ("x",)
    assert took.source.modes_version == VERSION


@pytest.mark.parametrize("what", ["nothing", "an empty folder"])
def test_nothing_to_read_is_said_at_once(tmp_path: Path, what: str) -> None:
    path = tmp_path / "there"
    if what == "an empty folder":
        path.mkdir()
    with pytest.raises(SourceFault, match=r"no such file|holds no results of the kind 'inspect'"):
        bring(INSPECT, [path], Choices(Modes(BUILT_IN["inspect"])), None)


def test_what_no_importer_knows_is_refused_with_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("hello")
    with pytest.raises(DesignError, match="no ledger, and no results of a known kind"):
        detected(tmp_path)
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(DesignError, match="tables need a map of their columns"):
        detected(tmp_path / "t.csv")
