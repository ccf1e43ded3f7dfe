import pytest

from infranoise.bundled.catalogue import BENCHMARKS, task_names
from infranoise.models.errors import DesignError


def test_the_demo_has_ten_tasks_the_edges_four_and_egress_one() -> None:
    known = {name: len(task_names(name)) for name in BENCHMARKS}
    assert known == {"headroom": 10, "edges": 4, "egress": 1}


def test_no_two_tasks_share_a_name() -> None:
    names = [task for benchmark in BENCHMARKS for task in task_names(benchmark)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("headrom", "did you mean 'bundled:headroom'?"),
        ("edge", "did you mean 'bundled:edges'?"),
        ("zebra", "There are: bundled:headroom, bundled:edges, bundled:egress"),
    ],
)
def test_an_unknown_benchmark_is_answered_with_the_names_there_are(asked: str, hint: str) -> None:
    with pytest.raises(DesignError) as refusal:
        task_names(asked)
    assert hint in str(refusal.value)
