"""Kill replays of a run: what became of killed trials that were run again at a higher ceiling."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from .cells import Cells
from .replayed import Replays
from .words import counted


@dataclass(frozen=True, slots=True)
class KillReplays:
    """The killed trials of one task and entry in one band, and their replays at one ceiling.

    `replayed` counts the killed trials that have a replay with an end, `passed`, `killed_again` and
    `infra_errors` (the kills among them) how these ended; rewards are theirs, of infra errors 0.
    """

    task: str
    entry: str
    killed_in: str
    ceiling: str
    killed: int
    replayed: int
    passed: int
    killed_again: int
    infra_errors: int
    reward_sum: float
    reward_sumsq: float


def kill_replays(attempts: pl.DataFrame) -> tuple[KillReplays, ...]:
    """Every task, entry and band with kills, for each ceiling at which some of its kills ran again.

    Args:
        attempts: every attempt; see `attempt_frame`. Of several replays of one trial at one
            ceiling the last one counts.
    """
    again = _last_replays(attempts)
    if again.is_empty():
        return ()
    kills = attempts.filter(pl.col("accepted") & _killed()).select(
        "task", "entry", pl.col("band").alias("killed_in"), pl.col("attempt").alias("replay_of")
    )
    pairs = again.join(kills, on="replay_of").select("killed_in", "ceiling").unique()
    rows = (
        kills.join(pairs, on="killed_in")
        .join(again, on=["replay_of", "ceiling"], how="left")
        .group_by("task", "entry", "killed_in", "ceiling")
        .agg(
            pl.len(),
            pl.col("passed").count().alias("replayed"),
            *(pl.col(name).sum() for name in ("passed", "again", "infra")),
            pl.col("reward").sum(),
            (pl.col("reward") ** 2).sum().alias("squares"),
        )
        .sort("killed_in", "ceiling", "task", "entry")
    )
    return tuple(KillReplays(*row) for row in rows.iter_rows())


def replays_at(counts: Sequence[KillReplays], killed_in: str, ceiling: str) -> Replays | None:
    """The replays of one band's kills at one ceiling, for `split`; None where there are none."""
    rows = [row for row in counts if (row.killed_in, row.ceiling) == (killed_in, ceiling)]
    if not any(row.replayed for row in rows):
        return None
    labels = {"task": [row.task for row in rows], "entry": [row.entry for row in rows]}
    again = Cells.of_counts(
        labels,
        n=[row.replayed for row in rows],
        passed=[row.passed for row in rows],
        infra=[row.infra_errors for row in rows],
        reward_sum=[row.reward_sum for row in rows],
        reward_sumsq=[row.reward_sumsq for row in rows],
    )
    killed = [row.killed for row in rows]
    return Replays(again, Cells.of_counts(labels, n=killed, passed=[0] * len(rows), infra=killed))


def replay_sentences(counts: Sequence[KillReplays]) -> tuple[str, ...]:
    """What became of the kills of each band at each ceiling, one sentence each."""
    pairs = dict.fromkeys((row.killed_in, row.ceiling) for row in counts)
    return tuple(_sentence(counts, *pair) for pair in pairs)


def _sentence(counts: Sequence[KillReplays], killed_in: str, ceiling: str) -> str:
    rows = [row for row in counts if (row.killed_in, row.ceiling) == (killed_in, ceiling)]
    killed, replayed = sum(row.killed for row in rows), sum(row.replayed for row in rows)
    passed, again = sum(row.passed for row in rows), sum(row.killed_again for row in rows)
    waiting = "" if replayed == killed else f" ({killed - replayed:,} still wait)"
    return (
        f"Of {counted(killed, 'trial')} killed in {killed_in}, {replayed:,} ran again at "
        f"{ceiling}{waiting}: {passed:,} passed, {again:,} {'was' if again == 1 else 'were'} "
        "killed again."
    )


def _last_replays(attempts: pl.DataFrame) -> pl.DataFrame:
    """One row per killed attempt and ceiling."""
    infra = pl.col("verdict") == "infra_error"
    return (
        attempts.filter(
            pl.col("replay_of").is_not_null(),
            pl.col("state") == "ended",
            pl.col("verdict") != "cancelled",
        )
        .sort("number")
        .unique(["replay_of", "replay_in"], keep="last", maintain_order=True)
        .select(
            "replay_of",
            pl.col("replay_in").alias("ceiling"),
            (pl.col("verdict") == "passed").cast(pl.Int64).alias("passed"),
            _killed().cast(pl.Int64).alias("again"),
            infra.cast(pl.Int64).alias("infra"),
            pl.when(infra).then(0.0).otherwise(pl.col("reward")).alias("reward"),
        )
    )


def _killed() -> pl.Expr:
    return (pl.col("verdict") == "infra_error") & (pl.col("cause") == "oom_killed")
