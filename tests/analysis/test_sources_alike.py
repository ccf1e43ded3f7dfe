"""Specification of telling once what trees of one kind do not record."""

from infranoise.analysis.sources_alike import alike
from infranoise.models.source import Kind, ModeCount, Source, Unrecorded


def source(kind: Kind, path: str, trials: int, *lacks: Unrecorded, harness: str = "1") -> Source:
    return Source(
        kind=kind,
        path=path,
        content_hash=path,
        harness=harness,
        files=1,
        trials=trials,
        modes_version=1,
        modes=(ModeCount(mode="late", judged="agent_timeout", attempts=trials, passed=1),),
        unrecorded=lacks,
        faults=(f"{path}: broken",),
    )


KILLS = Unrecorded(what="OOM kills", why="no counter", trials=3)
NODES = Unrecorded(what="nodes", why="nobody said")


def test_trees_of_one_harness_are_one_with_the_trials_of_all() -> None:
    a, b = source("harbor", "a", 5, KILLS, NODES), source("harbor", "b", 7, KILLS)
    (found,) = alike([a, b])
    assert (found.trials, found.files, found.faults) == (12, 2, ("a: broken", "b: broken"))
    assert found.unrecorded == (KILLS.model_copy(update={"trials": 6}), NODES)
    assert [(m.attempts, m.passed) for m in found.modes] == [(12, 2)]


def test_other_kinds_and_other_versions_stand_by_themselves() -> None:
    different = (
        source("harbor", "a", 1, KILLS),
        source("harbor", "b", 1, KILLS, harness="2"),
        source("inspect", "c", 1, KILLS),
    )
    assert alike(different) == different
