"""A ledger read as cells and as a table of attempts."""

from collections.abc import Callable

import polars as pl
import pytest
from sqlalchemy import Engine

from infranoise.analysis.read_ledger import read_attempts, read_cells, read_study
from infranoise.models.errors import LedgerError
from infranoise.models.ledger.store import open_store

type MakeLedger = Callable[..., Engine]


def test_cells_hold_the_counts_of_every_band_in_the_experiments_order(
    make_ledger: MakeLedger,
) -> None:
    cells = read_cells(make_ledger())
    assert cells.levels["band"] == ("1x", "2x", "uncapped")
    assert cells.levels["entry"] == ("lean", "heavy")
    heavy = cells.select(entry="heavy").by("band")
    assert heavy.n.tolist() == [6, 6, 6]
    assert heavy.passed.tolist() == [2, 4, 6]
    assert heavy.infra.tolist() == [4, 2, 0]


def test_cells_from_counts_equal_the_attempts_counted_one_by_one(make_ledger: MakeLedger) -> None:
    engine = make_ledger()
    cells, attempts = read_cells(engine), read_attempts(engine).filter("accepted")
    by_hand = attempts.group_by("band").agg((pl.col("verdict") == "passed").sum())
    counted = dict(zip(cells.levels["band"], cells.by("band").passed.tolist(), strict=True))
    assert counted == dict(by_hand.iter_rows())


def test_a_band_without_an_outcome_is_still_a_level(make_ledger: MakeLedger) -> None:
    cells = read_cells(make_ledger(stop_after=1))
    assert cells.levels["band"] == ("1x", "2x", "uncapped")
    assert int(cells.n.sum()) == 1


def test_further_factors_are_factors_of_the_cells_and_columns_of_the_attempts(
    make_ledger: MakeLedger,
) -> None:
    engine = make_ledger(factors={"concurrency": [1, 2]}, samples=1)
    assert read_cells(engine).levels["concurrency"] == ("1", "2")
    assert read_attempts(engine)["concurrency"].unique().sort().to_list() == ["1", "2"]


def test_an_attempt_has_its_key_verdict_evidence_clocks_usage_and_limits_in_one_row(
    make_ledger: MakeLedger,
) -> None:
    attempts = read_attempts(make_ledger())
    row = attempts.filter(
        (pl.col("task") == "suite/b") & (pl.col("entry") == "heavy") & (pl.col("band") == "1x")
    ).row(0, named=True)
    told = {
        "verdict": "infra_error",
        "cause": "oom_killed",
        "oom": "main",
        "accepted": True,
        "agent_exit_code": 137,
        "agent_oom_kills": 1,
        "cpu_s": 0.5,
        "memory_peak_bytes": 1_000_000,
        "overhead_cpu_s": 0.02,
        "enforcement": "test",
        "requested_memory_ceiling_bytes": 64 * 2**20,
        "effective_memory_ceiling_bytes": 64 * 2**20,
        "differs": ["cpu floor: not in force"],
        "start_load1": 0.5,
        "end_load1": None,
        "node": "local",
        "hour_utc": 3,
    }
    assert {name: row[name] for name in told} == told


def test_an_attempt_without_a_record_has_nulls_for_what_nobody_told(
    make_ledger: MakeLedger, send: Callable[..., None]
) -> None:
    from infranoise.models.ledger.attempts import abandon, owed

    engine = make_ledger(stop_after=0)
    send(engine, "small", owed(engine, "small")[:1])
    abandon(engine, "small", "the run was interrupted")
    (row,) = read_attempts(engine).iter_rows(named=True)
    assert (row["verdict"], row["accepted"], row["cpu_s"]) == ("cancelled", False, None)


def test_a_study_knows_its_plan_its_nodes_and_what_was_left_out(make_ledger: MakeLedger) -> None:
    study = read_study(make_ledger(stop_after=5))
    assert study.planned == 36
    assert study.nodes["local"].cpu_model == "Test CPU"
    assert study.left_out == ("suite/z: no verifier",)
    assert len(study.fingerprint) == 64


def test_the_attempts_survive_parquet(make_ledger: MakeLedger, tmp_path: object) -> None:
    attempts = read_attempts(make_ledger())
    path = f"{tmp_path}/trials.parquet"
    attempts.write_parquet(path)
    assert pl.read_parquet(path).equals(attempts)


def test_a_store_without_the_experiment_says_what_it_holds(
    make_ledger: MakeLedger, tmp_path: object
) -> None:
    with pytest.raises(LedgerError, match="holds no experiment"):
        read_cells(open_store(f"{tmp_path}/empty.sqlite"))
    with pytest.raises(LedgerError, match="it holds: small"):
        read_cells(make_ledger(), "other")
