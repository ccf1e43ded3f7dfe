"""The band to pin, as TOML that an experiment file takes."""

from collections.abc import Sequence
from textwrap import wrap

from ..models.band import SHORTHAND, Band, Share
from .calibrate import Calibration
from .cells import Cells
from .levels import ordered
from .words import percent, points

UNCAPPED = float("inf")
WIDEST = 72  # of a comment: a terminal that breaks its line would break the table


def ascending(cells: Cells, bands: Sequence[Band] = ()) -> Cells:
    """The cells with their bands in ascending order of the memory ceiling, the order in which a
    calibration reads them; bands whose ceilings nobody stated stand in reading order.

    Raises:
        DesignError: the cells have no bands.
    """
    cells.require("band")
    known = {band.name: band for band in bands if band.stated}
    labels = ordered(cells.levels["band"])
    if all(name in known for name in labels):
        labels = tuple(sorted(labels, key=lambda name: ceiling_of(known[name])))
    return cells.select(band=labels)


def ceiling_of(band: Band) -> float:
    """The memory ceiling as a multiple of the spec; inf where there is none."""
    top = band.memory.ceiling
    return UNCAPPED if top == "uncapped" else top


def pinned(found: Calibration, bands: Sequence[Band] = ()) -> Band | None:
    """The chosen band: as it was run, or by its shorthand; None where none qualifies, or nobody
    stated what its name means."""
    if found.chosen is None:
        return None
    stated = next((b for b in bands if b.name == found.chosen and b.stated), None)
    if stated is not None:
        return stated
    if SHORTHAND.match(found.chosen) or found.chosen == "uncapped":
        return Band.shorthand(found.chosen)
    return None


def pin_toml(found: Calibration, band: Band) -> str:
    """A `[[bands]]` table for an experiment file, with the evidence in a comment.

    Args:
        band: the band to pin, as `pinned` gives it.
    """
    row = next(ceiling for ceiling in found.per_ceiling if ceiling.band == found.chosen)
    evidence = [
        f"{found.rule}:",
        f"infra errors {percent(row.infra_rate)}, p {row.cuts_errors_p:.2g} that they are not cut;",
        f"score {points(row.lift)} points from {found.floor}, equal within "
        f"{points(row.smallest_margin or 0.0, signed=False)} points on "
        f"{'these' if found.target == 'same' else 'new'} tasks",
    ]
    return "\n".join(
        [
            *(f"# {line}" for told in evidence for line in wrap(told, WIDEST)),
            "[[bands]]",
            f'name = "{band.name}"',
            *(
                f"{name} = {_share(share)}"
                for name in ("memory", "cpu", "storage")
                if (share := getattr(band, name)) != Band.model_fields[name].default
            ),
            f'oom_scope = "{band.oom_scope}"',
            f"swap = {band.swap:g}",
            "",
        ]
    )


def _share(share: Share) -> str:
    ceiling = '"uncapped"' if share.ceiling == "uncapped" else f"{share.ceiling:g}"
    floor = "" if share.floor is None else f"floor = {share.floor:g}, "
    return f"{{ {floor}ceiling = {ceiling} }}"
