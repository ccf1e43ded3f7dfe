"""The chapter on causes: why infrastructure ended trials, and which kills did not decide one."""

from collections.abc import Sequence

from ..causes import BandCauses
from ..printable import one_line
from ..run_facts import Kill, RunFacts
from ..words import counted, percent, percents
from .chapter import ABSENT, Cell, Chapter, Figure, Table, table
from .charts import Rows, causes_chart

MOST_KILLS = 50
CHILD = "oom killed (only a child)"


def causes_chapter(run: RunFacts) -> Chapter:
    """Infra errors by cause and band, with and without those that killed a child only."""
    words = list(dict.fromkeys(cause for row in run.causes for cause in row.causes))
    infra = sum(row.infra_errors for row in run.causes)
    figure = Figure(
        "Infra errors by cause, as a share of the band's trials.",
        causes_chart(_bars(run.causes), [one_line(row.band) for row in run.causes], _series(run)),
    )
    kills = [kill for kill in run.kills if kill.place in ("recovered", "collateral", "verifier")]
    return Chapter(
        anchor="causes",
        title="Infra errors by cause",
        lead=_lead(run, infra),
        figures=(figure,) if infra else (),
        tables=(_causes_table(run, words), *([_kills_table(kills)] if kills else [])),
        notes=()
        if nobody_counted(run)
        else (
            "An exit code of 137 alone is no out-of-memory kill: the kernel's own counter, read "
            "from outside the pod at the end of each phase, must have counted one.",
        ),
    )


def nobody_counted(run: RunFacts) -> bool:
    """Others ran the trials and recorded no kill: what is not counted is not none."""
    return bool(run.sources) and not any(sum(row.kills.values()) for row in run.causes)


def _lead(run: RunFacts, infra: int) -> str:
    if nobody_counted(run):
        n = sum(row.n for row in run.causes)
        ends = counted(infra, "trial") if infra else "No trial"
        share = f" ({percent(infra / n)} of all)" if infra else ""
        return (
            f"{ends} ended as an infrastructure error that its source tells{share}. Kills for "
            "memory were not counted there: they look like wrong answers."
        )
    collateral = sum(row.collateral for row in run.causes)
    recovered = sum(row.kills["recovered"] for row in run.causes)
    survived = (
        f"{counted(recovered, 'trial')} passed although a child was killed for memory"
        if recovered
        else "no trial passed after an out-of-memory kill"
    )
    if not infra:
        return f"No trial ended in an infrastructure error; {survived}."
    n = sum(row.n for row in run.causes)
    without = (infra - collateral) / n
    child = (
        f"without the {collateral:,} in which only a child was killed it is {percent(without)}"
        if collateral
        else "in none of them was only a child killed"
    )
    ended = "trial ended in an infrastructure error" if infra == 1 else (
        "trials ended in infrastructure errors"
    )  # fmt: skip
    return f"{infra:,} {ended} ({percent(infra / n)} of all); {child}; {survived}."


def _series(run: RunFacts) -> list[str]:
    return list(dict.fromkeys(row["cause"] for row in _bars(run.causes)))


def _bars(rows: Sequence[BandCauses]) -> Rows:
    """One bar part per band and cause; kills of a child only stand apart from other kills."""
    parts = []
    for row in rows:
        counts: dict[str, int] = {}
        for cause, count in row.causes.items():
            child = row.collateral if cause == "oom_killed" else 0
            counts[cause.replace("_", " ")] = count - child
            counts[CHILD] = counts.get(CHILD, 0) + child
        parts += [
            {
                "band": one_line(row.band),
                "cause": cause,
                "count": count,
                "share": 100 * count / row.n,
                "place": place,
            }
            for place, (cause, count) in enumerate(counts.items())
            if count
        ]
    return parts


def _causes_table(run: RunFacts, words: Sequence[str]) -> Table:
    return table(
        "Trials that ended in an infra error, by cause; rates with and without killed children",
        ("band", "trials", *(word.replace("_", " ") for word in words), "all", "rate",
         "95 % interval", "only a child killed", "rate without those", "95 % interval"),
        [_line(row, words, counted=not nobody_counted(run)) for row in run.causes],
    )  # fmt: skip


def _line(row: BandCauses, words: Sequence[str], *, counted: bool) -> tuple[str, ...]:
    every, without = row.infra_rate, row.infra_rate_without_collateral if counted else None
    return (
        row.band,
        f"{row.n:,}",
        *(f"{row.causes.get(word, 0):,}" for word in words),
        f"{row.infra_errors:,}",
        percent(every.est) if every else ABSENT,
        percents(every.lo, every.hi) if every else ABSENT,
        f"{row.collateral:,}" if counted else ABSENT,
        percent(without.est) if without else ABSENT,
        percents(without.lo, without.hi) if without else ABSENT,
    )


def _kills_table(kills: Sequence[Kill]) -> Table:
    more = f"; first {MOST_KILLS} of {len(kills)}" if len(kills) > MOST_KILLS else ""
    return table(
        f"Trials in which something else than the agent's own process was killed for memory{more}",
        ("task", "entry", "band", "sample", "kills", "killed", "verdict"),
        [
            (
                Cell(kill.task, "name"),
                kill.entry,
                kill.band,
                f"{kill.sample}",
                ABSENT if kill.oom_kills is None else f"{kill.oom_kills}",
                {"verifier": "in the verifier"}.get(kill.place, f"a child ({kill.place})"),
                Cell(kill.verdict.replace("_", " "), "good" if kill.verdict == "passed" else "bad"),
            )
            for kill in kills[:MOST_KILLS]
        ],
        words=(1, 2, 5, 6),
        folded=len(kills) > 12,
    )
