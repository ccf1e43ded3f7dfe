"""The noise of a cell's mean, from its own counts."""

import numpy as np

from .arrays import Floats, Ints

ROUNDING = 1e-13


def noise_of_mean(n: Ints, total: Floats, total_sq: Floats) -> Floats:
    """Unbiased variance of a mean of n rewards; 0 where n < 2, which callers must mask: unknown.

    Args:
        n, total, total_sq: count, sum, sum of squares; one shape.
    """
    shape = np.zeros(n.shape)
    mean = np.divide(total, n, out=shape.copy(), where=n > 0)
    spread = np.divide(total_sq, n, out=shape.copy(), where=n > 0) - mean * mean
    # Equal fractional rewards round to a spread of about 1e-17 instead of 0, on either side.
    spread[spread < ROUNDING * mean] = 0.0
    noise: Floats = np.divide(spread, n - 1, out=shape, where=n > 1)
    return noise
