"""The inverse square root of I - W for an arrow-shaped W: a few dense rows, else diagonal."""

import numpy as np
from scipy import special

from .arrays import Floats

# With eigenvalues of I - W in [LEAST, 1] the error is about exp(-2 pi^2 NODES/(6 - ln LEAST)).
# A power of two, so that 1 - LEAST is exact.
LEAST = 2.0**-26
NODES = 32


def inverse_root_times(
    head: Floats, side: Floats, diagonal: Floats, right: Floats
) -> Floats | None:
    """`(I - W)^(-1/2) right` for `W = [[head, side], [side', diag(diagonal)]]`.

    The integral of `(t^2 + I - W)^-1` by the trapezoid rule after a conformal map; each node is
    an arrow solved by its head's Schur complement, so the cost is linear in the diagonal's length.

    Args:
        head: shape (p, p). side: shape (p, s). diagonal: shape (s,), every entry below 1.
        right: shape (p + s, k).
    Returns: shape (p + s, k); None where I - W is all but singular.
    Source: Hale, Higham & Trefethen (2008), SIAM J Numer Anal 46:2505-2523, method 3.
    """
    p = head.shape[0]
    at_zero = np.eye(p) - head - (side / (1.0 - diagonal)) @ side.T
    if diagonal.max(initial=0.0) > 1.0 - LEAST or np.linalg.eigvalsh(at_zero)[0] < LEAST:
        return None
    shifts, weights = _nodes()
    inverse = 1.0 / (1.0 + shifts[:, None] - diagonal)  # (nodes, s)
    scaled = side * inverse[:, None, :]  # (nodes, p, s)
    schur = (1.0 + shifts)[:, None, None] * np.eye(p) - head - scaled @ side.T
    top = np.linalg.solve(schur, right[:p] + scaled @ right[p:])
    bottom = inverse[:, :, None] * right[p:] + scaled.transpose(0, 2, 1) @ top
    total: Floats = np.tensordot(weights, np.concatenate([top, bottom], axis=1), axes=1)
    return total


def _nodes() -> tuple[Floats, Floats]:
    """Shifts and weights of the trapezoid rule for spectra in [LEAST, 1]."""
    complement = special.ellipkm1(LEAST)
    at = (np.arange(NODES) + 0.5) * complement / NODES
    sn, cn, dn, _ = special.ellipj(at, 1.0 - LEAST)
    shifts = LEAST * (sn / cn) ** 2
    weights = 2.0 * complement * np.sqrt(LEAST) / (np.pi * NODES) * dn / cn**2
    return shifts, weights
