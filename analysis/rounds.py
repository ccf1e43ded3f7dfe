"""Rounds out of cells: what the monitor watches while a run goes on.

A round is complete for a contrast once every task and entry of it has a trial at both bands. Its
difference is the mean over entries, then tasks; its variance is known from the noise within cells
of all complete rounds together, which is sharper than the spread of a few rounds.
"""

from dataclasses import dataclass

import numpy as np

from ..models.errors import DesignError, SampleTooSmall
from .arrays import Bools, Floats
from .cells import Cells
from .grouping import mixed_radix
from .noise import noise_of_mean
from .sequential import FEWEST_ROUNDS, Monitor, monitor


@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """Differences of complete rounds, in their order, shape (t,), and the SD of one of them.

    `sigma` is None where no cell has two trials yet.
    """

    differences: Floats
    sigma: float | None


def watch(
    cells: Cells,
    reference: str | None = None,
    *,
    rounds: str = "sample",
    margin: float,
    alpha: float = 0.05,
    tuned_at: float = 8.0,
) -> tuple[Monitor, ...]:
    """Monitors of every band's lift over the reference, in the order of bands.

    Args:
        cells: counts by task, entry, band and `rounds`.
        reference: the band that lifts are taken against; the first by default.
        rounds: the factor that numbers the rounds, such as the sample index.
        margin: equivalence margin, fraction. alpha: of each contrast. tuned_at: see `monitor`.
    Raises:
        DesignError: a factor or level that the cells lack, or margin not above 0.
        SampleTooSmall: a contrast without a complete round.
    """
    cells.require("band")
    bands = [cells.levels["band"][code] for code in np.unique(cells.codes["band"])]
    floor = bands[0] if reference is None and bands else reference or ""
    cells.index("band", floor)
    found = {b: complete_rounds(cells, b, floor, rounds) for b in bands if b != floor}
    if not found:
        raise DesignError("a monitor needs two bands with trials")
    return tuple(
        monitor(
            of.differences,
            margin=margin,
            sigma=of.sigma,
            tuned_at=tuned_at,
            alpha=alpha,
            contrast=f"{band} - {floor}",
            earliest=FEWEST_ROUNDS,  # its noise, too, is estimated
        )
        for band, of in found.items()
    )


def complete_rounds(cells: Cells, band: str, vs: str, rounds: str = "sample") -> Rounds:
    """Differences of the rounds that are complete for one contrast; arguments as `watch`.

    Raises:
        DesignError: a factor or level that the cells lack.
        SampleTooSmall: no round is complete.
    """
    n, total, total_sq = _tables(cells.select(band=[vs, band]), rounds)
    strata = (n > 0).any(axis=(0, 1))
    complete = (n > 0)[:, :, strata].all(axis=(1, 2))
    if not strata.any() or not complete.any():
        raise SampleTooSmall(
            f"no complete round of {band} and {vs} yet; a round is one trial of every task and "
            "entry at both bands"
        )
    weight = _weights(strata)[strata]
    kept, sums = n[complete][:, :, strata], total[complete][:, :, strata]
    means = sums / kept
    sigma = _sigma(kept, sums, total_sq[complete][:, :, strata], weight)
    return Rounds((means[:, 1] - means[:, 0]) @ weight, sigma)


def _tables(cells: Cells, rounds: str) -> tuple[Floats, Floats, Floats]:
    """Trials, rewards and their squares, shape (rounds, 2 bands, tasks, entries)."""
    names = (rounds, "band", "task", "entry")
    cells.require(*names)
    shape = [len(cells.levels[name]) for name in names]
    key, slots = mixed_radix([cells.codes[name] for name in names], shape, len(cells))
    n, total, total_sq = (
        np.bincount(key, weights=column, minlength=slots).reshape(shape)
        for column in (cells.n, cells.reward_sum, cells.reward_sumsq)
    )
    return n, total, total_sq


def _weights(strata: Bools) -> Floats:
    """Each stratum's weight in a mean over entries, then tasks; shape (tasks, entries)."""
    entries = strata.sum(axis=1, keepdims=True)
    return strata / (np.maximum(entries, 1) * np.count_nonzero(entries))


def _sigma(n: Floats, total: Floats, total_sq: Floats, weight: Floats) -> float | None:
    """SD of one round's difference, by the noise of the strata's trials over all rounds.

    Arguments of shape (rounds, 2, strata), but weight (strata,).
    """
    trials = n.sum(axis=0)
    if (trials < 2).any():
        return None
    of_a_trial = trials * noise_of_mean(
        trials.astype(np.int64), total.sum(axis=0), total_sq.sum(axis=0)
    )
    per_round = n.mean(axis=0)
    return float(np.sqrt(np.sum(weight**2 * of_a_trial / per_round)))
