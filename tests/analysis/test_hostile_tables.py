"""Any table, through the front door: `infranoise.analyze` is right, or it refuses in words."""

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import infranoise
from infranoise.analysis.findings_json import to_json
from infranoise.models.errors import DesignError, InfranoiseError, SampleTooSmall

EXAMPLES = settings(max_examples=5, deadline=None)
COUNTS = "task=task,entry=entry,band=band,n=n,passes=passes,infra_errors=infra_errors"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of counts."""

    task: str
    entry: str
    band: str
    n: int
    passes: int
    infra_errors: int


type Table = Sequence[Row]
type Ask = Callable[..., Any]


@st.composite
def tables(
    draw: st.DrawFn, tasks: int = 3, entries: int = 2, bands: int = 3, samples: int = 4
) -> list[Row]:
    """Up to so many tasks, entries, bands and samples; some combinations are missing."""
    grid = product(*(range(draw(st.integers(1, most))) for most in (tasks, entries, bands)))
    rows = []
    for t, e, b in grid:
        n = draw(st.integers(0, samples))
        infra = draw(st.integers(0, n))
        rows.append(Row(f"t{t}", f"e{e}", f"{b + 1}x", n, draw(st.integers(0, n - infra)), infra))
    return [*rows, Row("t0", "e0", "1x", 2, 1, 0)]


@st.composite
def complete(draw: st.DrawFn, least: int = 2) -> list[Row]:
    """Three tasks, two entries and two bands with the same number of samples, no cell missing."""
    n = draw(st.integers(least, 4))
    return [
        Row(f"t{t}", f"e{e}", f"{b}x", n, draw(st.integers(0, n)), 0)
        for t, e, b in product(range(3), range(2), (1, 2))
    ]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """The document of a table, which is written to a file first; or the kind of refusal."""
    folder = tmp_path_factory.mktemp("tables")

    def asked(rows: Sequence[Row] | pl.DataFrame, **more: Any) -> Any:
        path = folder / "table.csv"
        if isinstance(rows, pl.DataFrame):
            path = folder / "table.parquet"
            rows.write_parquet(path)
        else:
            _write(path, rows)
            more = {"columns": COUNTS, **more}
        try:
            found = infranoise.analyze(path, **more)
        except InfranoiseError as refusal:
            return type(refusal)
        assert all(math.isfinite(number) for number in _whole(found))
        document = to_json(found)
        return json.loads(json.dumps(document, allow_nan=False))

    return asked


def _whole(value: Any) -> Iterator[float]:
    """Every number of findings, before JSON could turn one that is not finite into null."""
    if is_dataclass(value):
        value = [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _whole(part)
    elif isinstance(value, float):
        yield value


def _write(path: Path, rows: Table) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Row.__dataclass_fields__)
        writer.writerows([r.task, r.entry, r.band, r.n, r.passes, r.infra_errors] for r in rows)


def trials(rows: Table) -> pl.DataFrame:
    """The same table with one row per trial."""
    one = [
        (r.task, r.entry, r.band, ending < r.passes, ending >= r.n - r.infra_errors)
        for r in rows
        for ending in range(r.n)
    ]
    return pl.DataFrame(one, ["task", "entry", "band", "passed", "infra_error"], orient="row")


def numbers(value: Any) -> Iterator[float]:
    """Every number of a document, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def same(one: Any, other: Any) -> None:
    """Two documents, or two refusals, hold the same numbers."""
    if isinstance(one, type) or isinstance(other, type):
        assert one == other
        return
    assert list(numbers(one)) == pytest.approx(list(numbers(other)), rel=1e-6, abs=1e-9)


def lifts(document: Any, *names: str) -> dict[str, list[Any]]:
    """By band, the named numbers of its lift."""
    return {r["band"]: [r["lift"][n] for n in names] for r in document["bands"] if r["lift"]}


@EXAMPLES
@given(rows=tables())
def test_new_names_in_the_same_order_change_no_number(ask: Ask, rows: Table) -> None:
    named = [replace(r, task=f"T-{r.task}", entry=f"{r.entry} (new)") for r in rows]
    same(ask(rows), ask(named))


@EXAMPLES
@given(rows=complete())
def test_new_names_in_another_order_change_no_estimate_and_no_error(ask: Ask, rows: Table) -> None:
    turned = [replace(r, task=f"t{9 - int(r.task[1:])}") for r in rows]
    one, other = ask(rows), ask(turned)
    for part in ("bands", "trend", "components", "ceiling", "gaps", "design", "runs"):
        same(one[part], other[part])
    same(one["crosscheck"]["cmh"], other["crosscheck"]["cmh"])
    effects = [[row["levels"] for row in found["factors"]] for found in (one, other)]
    same(*effects)


@EXAMPLES
@given(rows=tables(), shuffled=st.randoms(use_true_random=False))
def test_counts_pieces_of_counts_and_trials_in_any_order_are_one_table(
    ask: Ask, rows: Table, shuffled: Any
) -> None:
    whole = ask(rows)
    pieces = [replace(r, n=k, passes=p, infra_errors=i) for r in rows for k, p, i in _cut(r)]
    shuffled.shuffle(pieces)
    same(whole, ask(pieces))
    held = [r for r in rows if r.n]  # a trial that was not run has no row
    same(ask(held), ask(trials(held).sample(fraction=1.0, shuffle=True, seed=3)))


def _cut(row: Row) -> list[tuple[int, int, int]]:
    """Its passes, its infra errors, and the rest."""
    rest = row.n - row.passes - row.infra_errors
    return [(row.passes, row.passes, 0), (row.infra_errors, 0, row.infra_errors), (rest, 0, 0)]


@EXAMPLES
@given(rows=complete())
def test_the_same_data_twice_keep_estimates_and_narrow_the_same_task_error(
    ask: Ask, rows: Table
) -> None:
    once, twice = ask(rows), ask([*rows, *rows])
    for names in (("est",), ("se_new",), ("p_new",)):
        same(lifts(once, *names), lifts(twice, *names))
    same(once["components"]["finite"]["plug_in"], twice["components"]["finite"]["plug_in"])
    n = rows[0].n
    narrower = math.sqrt((n - 1) / (2 * n - 1))
    for band, [se] in lifts(once, "se_same").items():
        assert lifts(twice, "se_same")[band] == [pytest.approx(se * narrower)]


@EXAMPLES
@given(rows=complete())
def test_the_other_reference_mirrors_the_lift_and_leaves_the_component(
    ask: Ask, rows: Table
) -> None:
    ahead, back = ask(rows, reference="1x"), ask(rows, reference="2x")
    names = ("est", "se_same", "se_new", "p_same", "p_new", "p_naive", "tau2")
    [est, *rest], [mirrored, *same_rest] = lifts(ahead, *names)["2x"], lifts(back, *names)["1x"]
    assert (mirrored, same_rest) == (pytest.approx(-est), pytest.approx(rest))
    one, other = (found["factors"][0]["component"]["phi"] for found in (ahead, back))
    assert one == pytest.approx(other, abs=1e-12)
    same(ahead["components"], back["components"])
    same(ahead["gaps"], back["gaps"])


@pytest.mark.parametrize("passes", [0, 3])
@EXAMPLES
@given(rows=complete())
def test_a_task_that_never_changes_dilutes_the_lift_and_tells_cmh_nothing(
    ask: Ask, rows: Table, passes: int
) -> None:
    flat = [Row("t9", e, b, 3, passes, 0) for e in ("e0", "e1") for b in ("1x", "2x")]
    before, after = ask(rows), ask([*rows, *flat])
    [est, se], [diluted, less] = (lifts(found, "est", "se_same")["2x"] for found in (before, after))
    assert (diluted, less) == (pytest.approx(est * 3 / 4), pytest.approx(se * 3 / 4))
    same(before["crosscheck"]["cmh"], after["crosscheck"]["cmh"])


@EXAMPLES
@given(rows=complete())
def test_a_band_in_which_nothing_ran_changes_no_other_band(ask: Ask, rows: Table) -> None:
    before, after = ask(rows), ask([*rows, Row("t0", "e0", "9x", 0, 0, 0)])
    same(before["bands"], after["bands"][:2])
    same(before["components"], after["components"])
    assert [row["n"] for row in after["bands"][2:]] in ([], [0])


@EXAMPLES
@given(rows=tables(tasks=1))
def test_one_task_says_nothing_of_others(ask: Ask, rows: Table) -> None:
    found = ask(rows)
    for se, p, interval, tau2 in lifts(found, "se_new", "p_new", "ci_new", "tau2").values():
        assert (se, p, interval, tau2) == (None, None, None, None)
    assert all(gap["p_new"] is None for gap in found["gaps"] or [])


@EXAMPLES
@given(rows=tables(samples=1))
def test_single_samples_never_show_a_noise_of_zero(ask: Ask, rows: Table) -> None:
    found = ask([r for r in rows if r.n < 2])
    if isinstance(found, type):  # nothing was run
        assert found is SampleTooSmall
        return
    for row in found["bands"]:
        if row["lift"]:
            assert "single samples" in row["lift"]["flags"]
            assert row["lift"]["tau2"] is None
    assert (found["components"] or {}).get("super") is None


@EXAMPLES
@given(rows=complete())
def test_infra_errors_alone_are_a_rate_of_one_and_a_score_of_anything(
    ask: Ask, rows: Table
) -> None:
    found = ask([replace(r, passes=0, infra_errors=r.n) for r in rows])
    for row in found["bands"]:
        assert row["infra_rate"]["est"] == 1.0
        assert row["score"]["bounds"] == [0.0, 1.0]
        assert row["score"]["excluded"] is None
    [lift] = lifts(found, "est", "se_same", "p_same").values()
    assert lift == [0.0, 0.0, None]


@EXAMPLES
@given(rows=tables(), rewards=st.lists(st.floats(0.01, 0.99), min_size=5, max_size=5))
def test_fractional_rewards_have_a_mean_and_no_odds_ratio(
    ask: Ask, rows: Table, rewards: Sequence[float]
) -> None:
    table = trials(rows).with_columns(pl.col("passed").cast(pl.Float64))
    fractions = [rewards[k % 5] for k in range(table.height)]
    table = table.with_columns(passed=pl.col("passed") * pl.Series(fractions))
    found = ask(table)
    assert found["crosscheck"] is None
    assert "rewards of 0 and 1" in found["refused"]["crosscheck"] or "share" in str(
        found["refused"]
    )
    for row in found["bands"]:
        of = table.filter(pl.col("band") == row["band"])
        by_entry = of.group_by("task", "entry").agg(pl.col("passed").mean())
        mean = by_entry.group_by("task").agg(pl.col("passed").mean())["passed"].mean()
        assert row["score"]["strict"]["est"] == pytest.approx(mean)


def with_factor(rows: Table, level: Callable[[int, str], str]) -> pl.DataFrame:
    table = trials(rows)
    levels = [level(k, str(task)) for k, task in enumerate(table["task"])]
    return table.with_columns(node=pl.Series(levels, dtype=pl.String))


@EXAMPLES
@given(rows=complete())
def test_a_factor_of_one_level_is_refused_by_name_and_moves_nothing(ask: Ask, rows: Table) -> None:
    found = ask(with_factor(rows, lambda k, task: "n1"), factors=["node"])
    assert [row["factor"] for row in found["factors"]] == ["band"]
    assert found["refused"]["factor node"].startswith("node has one level")
    same(found["factors"], ask(trials(rows))["factors"])


@EXAMPLES
@given(rows=complete())
def test_a_factor_with_a_level_of_its_own_for_every_trial_gets_no_effect(
    ask: Ask, rows: Table
) -> None:
    found = ask(with_factor(rows, lambda k, task: f"n{k}"), factors=["node"])
    [node] = [row for row in found["factors"] or [] if row["factor"] == "node"] or [None]
    if node is None:
        assert "factors" in found["refused"]
        return
    assert node["component"] is None
    assert {"aliased", "association"} <= set(node["flags"])
    assert "node" in found["design"]["aliased"]


@EXAMPLES
@given(rows=complete())
def test_a_factor_that_goes_with_the_task_is_aliased_and_leaves_the_band_alone(
    ask: Ask, rows: Table
) -> None:
    found = ask(with_factor(rows, lambda k, task: f"n-{task}"), factors=["node"])
    plain = ask(trials(rows))
    of = {row["factor"]: row for row in found["factors"]}
    assert {"aliased", "association"} <= set(of["node"]["flags"])
    assert all(level["est"] is None for level in of["node"]["levels"])
    same(of["band"]["levels"], plain["factors"][0]["levels"])


@pytest.mark.parametrize("factor", ["node", "node:assigned=trial", "node:assigned=wave:wave"])
@EXAMPLES
@given(rows=tables(), levels=st.integers(1, 3))
def test_any_factor_on_any_table_gives_numbers_or_reasons(
    ask: Ask, rows: Table, levels: int, factor: str
) -> None:
    table = with_factor(rows, lambda k, task: f"n{k % levels}")
    table = table.with_columns(wave=pl.Series([f"w{k // 2}" for k in range(table.height)]))
    found = ask(table, factors=[factor], budget_at="tasks=89,samples=5")
    assert all(math.isfinite(number) for number in numbers(found))
    missing = {part for part in ("gaps", "ceiling", "components", "crosscheck", "trend", "factors",
                                 "noise_budget", "design") if found[part] is None}  # fmt: skip
    assert missing <= {reason.replace(" ", "_") for reason in found["refused"]}
    for row in found["factors"] or []:
        assert (row["role"] == "observed") == ("association" in row["flags"])


REFUSED = {
    "no row at all": ({"task": [], "band": [], "passed": []}, {}, SampleTooSmall),
    "no trial in any row": (
        {"task": ["a"], "band": ["1x"], "n": [0], "passes": [0]}, {}, SampleTooSmall),
    "a reference that is no band": (
        {"task": ["a"], "band": ["1x"], "passed": [True]}, {"reference": "9x"}, DesignError),
    "a factor without a column": (
        {"task": ["a"], "band": ["1x"], "passed": [True]}, {"factors": ["moon"]}, DesignError),
    "a row without a label": (
        {"task": ["a", None], "band": ["1x", "1x"], "passed": [True, True]}, {}, DesignError),
    "a pass that is an infra error": (
        {"task": ["a"], "passed": [True], "infra_error": [True]}, {}, DesignError),
    "a reward above 1": ({"task": ["a"], "passed": [1.5]}, {}, DesignError),
    "a reward without end": ({"task": ["a"], "passed": [float("inf")]}, {}, DesignError),
    "more passes than trials": ({"task": ["a"], "n": [2], "passes": [3]}, {}, DesignError),
    "half a trial": ({"task": ["a"], "n": [2.5], "passes": [1.0]}, {}, DesignError),
    "counts below zero": ({"task": ["a"], "n": [-2], "passes": [-3]}, {}, DesignError),
    "a count that is no number": (
        {"task": ["a"], "n": [float("nan")], "passes": [1.0]}, {}, DesignError),
    "a margin of nothing": ({"task": ["a"], "passed": [True]}, {"margin": 0.0}, DesignError),
    "a score of no tasks": (
        {"task": ["a"], "passed": [True]}, {"budget_at": "tasks=0,samples=1"}, DesignError),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_table_of_trials_is_refused(ask: Ask, what: str) -> None:
    columns, more, kind = REFUSED[what]
    strings = {name: pl.String for name in ("task", "band") if name in columns}
    assert ask(pl.DataFrame(columns, schema_overrides=strings), **more) is kind


@pytest.mark.parametrize("name", ["table.parquet", "table.csv"])
def test_an_empty_file_is_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(DesignError, match=name):
        infranoise.analyze(tmp_path / name)
