"""The chapters on tasks: what passed where, and what was killed low and passed high."""

from collections.abc import Mapping, Sequence

from ..findings import Findings
from ..heat_map import Tile
from ..printable import one_line
from ..rescued import KilledThenPassed, Outcomes
from ..words import counted, listed, percent
from .chapter import ABSENT, Cell, Chapter, Figure, Table, Tone, table
from .charts import Rows, heat_chart
from .short_names import short_names

MOST_MAPS = 6
LONGEST_OPEN = 30
EVEN = 1e-9


def heat_chapter(found: Findings) -> Chapter:
    """Task by band: the share that passed, a map per entry while they are few."""
    order = [one_line(row.band) for row in found.bands]
    tasks = list(dict.fromkeys(tile.task for tile in found.heat_map))
    entries, short = [curve.entry for curve in found.entries], short_names(tasks)
    figures = [
        Figure(
            f"{one_line(entry, 60)}: score of each task by band.",
            heat_chart(_tiles(found.heat_map, entry, short), order, list(short.values())),
            width=520,
        )
        for entry in (entries if len(entries) <= MOST_MAPS else ())
    ]
    return Chapter(
        anchor="tasks",
        title="Task by band",
        lead=_heat_lead(found, tasks),
        figures=tuple(figures),
        tables=(_heat_table(found, tasks, entries),),
        small=True,
    )


def _heat_lead(found: Findings, tasks: Sequence[str]) -> str:
    scores: dict[tuple[str, str], set[float]] = {}
    for tile in found.heat_map:
        scores.setdefault((tile.task, tile.entry), set()).add(round(tile.score, 9))
    vary = {task for (task, _), seen in scores.items() if len(seen) > 1}
    if not tasks:
        return "No task has an outcome yet."
    if len(tasks) == 1:
        how = "scores differently" if vary else "scores the same"
        return f"The one task {how} across bands, by these counts alone."
    verb = "scores" if len(vary) == 1 else "score"
    return (
        f"{len(vary)} of {len(tasks)} tasks {verb} differently in different bands, by these counts "
        "alone: one task's few samples differ by luck as well."
    )


def _tiles(tiles: Sequence[Tile], entry: str, short: Mapping[str, str]) -> Rows:
    return [
        {
            "task": short[tile.task],
            "band": one_line(tile.band),
            "score": tile.score,
            "label": f"{tile.passed}/{tile.n}",
            "passed": tile.passed,
            "infra_errors": tile.infra_errors,
            "n": tile.n,
        }
        for tile in tiles
        if tile.entry == entry
    ]


def _heat_table(found: Findings, tasks: Sequence[str], entries: Sequence[str]) -> Table:
    at = {(tile.task, tile.entry, tile.band): tile for tile in found.heat_map}
    bands = [row.band for row in found.bands]
    lines: list[tuple[Cell | str, ...]] = [
        (Cell(task, "name"), entry, *(_tile_cell(at.get((task, entry, b))) for b in bands))
        for task in tasks
        for entry in entries
        if any((task, entry, band) in at for band in bands)
    ]
    return table(
        "Passed of trials by task, entry and band; infra errors in brackets",
        ("task", "entry", *bands),
        lines,
        words=(1,),
        folded=len(lines) > LONGEST_OPEN or len(entries) <= MOST_MAPS,
    )


def _tile_cell(tile: Tile | None) -> Cell:
    if tile is None:
        return Cell(ABSENT, "muted")
    errors = f" ({tile.infra_errors})" if tile.infra_errors else ""
    tone: Tone = "good" if tile.score > 1 - EVEN else "bad" if tile.score < EVEN else "warn"
    return Cell(f"{tile.passed}/{tile.n}{errors}", tone)


def rescued_chapter(rows: Sequence[KilledThenPassed]) -> Chapter:
    """Trials that the kernel killed under a tight ceiling and that passed under a wider one."""
    return Chapter(
        anchor="rescued",
        title="Killed low, passed high",
        lead=_rescued_lead(rows),
        tables=(_rescued_table(rows), _pairs_table(rows)) if rows else (),
        notes=(
            "Each sample is compared with itself: the same task, entry and seed, killed by the "
            "kernel in a tighter band and passed in a wider one.",
        )
        if rows
        else (),
    )


def _rescued_lead(rows: Sequence[KilledThenPassed]) -> str:
    if not rows:
        return "No sample was killed for memory in one band and passed in a wider one."
    rescued, samples = sum(r.rescued for r in rows), sum(r.samples for r in rows)
    tasks = len({row.task for row in rows})
    entries = list(dict.fromkeys(row.entry for row in rows))
    whose = f" of {listed(entries)}" if len(entries) <= 4 else ""
    verb = "was killed for memory in one band and passed" if rescued == 1 else (
        "were each killed for memory in one band and passed"
    )  # fmt: skip
    return (
        f"{counted(rescued, 'sample')}{whose} on {counted(tasks, 'task')} {verb} in a wider one "
        f"({percent(rescued / samples)} of the samples of these tasks)."
    )


def _rescued_table(rows: Sequence[KilledThenPassed]) -> Table:
    return table(
        "K killed by the kernel, P passed, F failed, E another infra error; with their counts",
        ("task", "entry", *(outcome.band for outcome in rows[0].by_band), "rescued"),
        [
            (
                Cell(row.task, "name"),
                row.entry,
                *(_outcome_cell(outcome) for outcome in row.by_band),
                f"{row.rescued} of {row.samples}",
            )
            for row in rows
        ],
        words=range(1, 2 + len(rows[0].by_band)),
    )


def _outcome_cell(ended: Outcomes) -> Cell:
    counts: tuple[tuple[str, int, Tone], ...] = (
        ("K", ended.oom_killed, "bad"),
        ("P", ended.passed, "good"),
        ("F", ended.failed, "muted"),
        ("E", ended.infra_errors - ended.oom_killed, "warn"),
    )
    pills = tuple((f"{letter} {count}", tone) for letter, count, tone in counts if count)
    return Cell("" if pills else ABSENT, pills=pills)


def _pairs_table(rows: Sequence[KilledThenPassed]) -> Table:
    return table(
        "The pairs, by trial",
        ("task", "entry", "sample", "killed in", "trial", "passed in", "trial"),
        [
            (
                Cell(row.task, "name"),
                row.entry,
                f"{pair.sample}",
                pair.killed_in,
                pair.killed_trial,
                pair.passed_in,
                pair.passed_trial,
            )
            for row in rows
            for pair in row.pairs
        ],
        words=(1, 3, 4, 5, 6),
        folded=True,
    )
