"""The chapter on kill replays: what killed trials did when they ran again at a higher ceiling."""

from collections.abc import Mapping, Sequence

from ..kill_replays import KillReplays, replay_sentences
from ..split import Split
from ..words import points
from .bands_tables import span
from .chapter import Cell, Chapter, Table, table


def replays_chapter(replays: Sequence[KillReplays], splits: Mapping[str, Split]) -> Chapter:
    """What became of every kill that ran again, and the lift that this explains."""
    observed = [split for split in splits.values() if split.replayed is not None]
    return Chapter(
        anchor="replays",
        title="Killed trials, run again",
        lead=" ".join(replay_sentences(replays)),
        tables=(*([_split_table(observed)] if observed else []), _counts_table(replays)),
        notes=(
            "A replay keeps the trial's task, entry and sample seed; its outcome never replaces "
            "the trial's. Rescue is the share of trials that were killed and pass on replay; what "
            "is left of the lift is strategy.",
        ),
    )


def _split_table(observed: Sequence[Split]) -> Table:
    rows = [
        (
            split.band,
            points(split.lift),
            points(split.replayed.rescue),
            span(split.replayed.rescue_ci),
            points(split.replayed.strategy),
            span(split.replayed.strategy_ci),
        )
        for split in observed
        if split.replayed is not None
    ]
    return table(
        f"Where the lift over {observed[0].vs} comes from, observed by replay: points, with 95 % "
        "intervals on these tasks",
        ("band", "lift", "rescued kills", "95 % interval", "strategy", "95 % interval"),
        rows,
    )


def _counts_table(replays: Sequence[KillReplays]) -> Table:
    return table(
        "Replays by task and entry",
        ("task", "entry", "killed in", "run again at", "killed", "replayed", "passed",
         "killed again"),
        [
            (
                Cell(row.task, "name"),
                Cell(row.entry, "name"),
                row.killed_in,
                row.ceiling,
                *(f"{n:,}" for n in (row.killed, row.replayed, row.passed, row.killed_again)),
            )
            for row in replays
        ],
        words=(1, 2, 3),
        folded=True,
    )  # fmt: skip
