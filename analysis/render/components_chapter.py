"""The chapter on variance components: task, entry, band and their interactions."""

from ..components import Components
from ..flags import Flag
from ..words import MINUS, counted, listed, percent
from .chapter import ABSENT, Cell, Chapter, Figure, table
from .charts_of_parts import budget_chart

SCALE = 1e4
LUCK = "within a cell"
SMALL = 0.005  # a share that rounds to nothing


def components_chapter(found: Components) -> Chapter:
    """Of what the variance of a single trial is made, with noise subtracted and without."""
    rows = [
        {
            "source": name,
            "sd": 100 * max(value, 0.0) ** 0.5,
            "lo": None,
            "hi": None,
            "share": 100 * max(value, 0.0) / found.finite.total if found.finite.total else 0.0,
        }
        for name, value in _parts(found).items()
    ]
    figure = Figure(
        "Standard deviation of a single trial by source, in points, sampling noise subtracted; a "
        "component below 0 is drawn as 0.",
        budget_chart(rows, [str(row["source"]) for row in rows], "a trial"),
    )
    return Chapter(
        anchor="components",
        title="Where the variance of a trial comes from",
        lead=_lead(found),
        figures=(figure,) if rows else (),
        tables=(
            table(
                "Variance components on the scale of scores, times 10,000: of these levels, with "
                "sampling noise left in and subtracted, and of levels drawn at random",
                ("source", "noise left in", "noise subtracted", "levels at random",
                 "share of a trial"),
                [
                    *(_line(found, effect) for effect in found.finite.plug_in),
                    (Cell(LUCK, "name"), ABSENT, _scaled(found.finite.within), ABSENT,
                     _share(found, found.finite.within)),
                ],
            ),
        ),
        notes=_notes(found),
    )  # fmt: skip


def _parts(found: Components) -> dict[str, float]:
    if found.finite.corrected is None or found.finite.within is None:
        return {}
    return {**found.finite.corrected, LUCK: found.finite.within}


def _lead(found: Components) -> str:
    parts, total = _parts(found), found.finite.total
    if not parts:
        return (
            "Cells of one sample show no noise of their own, so that the variance of a trial "
            "cannot be split."
        )
    if not total:
        return "Every trial of these tasks ended alike: there is no variance to split."
    largest = sorted(parts.items(), key=lambda part: -part[1])[:3]
    told = listed(
        [
            f"{name} ({percent(value / total, 0)})"
            for name, value in largest
            if value >= SMALL * total
        ]
    )
    band = parts.get("band")
    small = "" if band is None else f"; the band itself makes {percent(max(band, 0.0) / total, 2)}"
    return (
        f"The variance of a single trial comes mostly from {told}{small}, which says little of a "
        "score: over many tasks the others average out, and the band does not."
        if band is not None and "band" not in dict(largest)
        else f"The variance of a single trial comes mostly from {told}."
    )


def _line(found: Components, effect: str) -> tuple[Cell | str, ...]:
    finite = found.finite
    corrected = finite.corrected[effect] if finite.corrected else None
    return (
        Cell(effect, "name"),
        _scaled(finite.plug_in[effect]),
        _scaled(corrected),
        _scaled(found.super[effect] if found.super else None),
        _share(found, corrected),
    )


def _scaled(variance: float | None) -> str:
    return ABSENT if variance is None else f"{SCALE * variance:.2f}".replace("-", MINUS)


def _share(found: Components, variance: float | None) -> str:
    total = found.finite.total
    return ABSENT if variance is None or not total else percent(variance / total, 2)


def _notes(found: Components) -> tuple[str, ...]:
    if not _parts(found):
        return ()
    notes = ["A component below 0 is kept as it is: its noise was subtracted, and nothing is left."]
    if Flag.INCOMPLETE in found.flags:
        kept = counted(found.tasks, "task")
        notes.append(f"Of {kept} with every entry and band; the others are left out.")
    return tuple(notes)
