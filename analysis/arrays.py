"""Names for the array types that every room of the analysis speaks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

type Ints = NDArray[np.int64]
type Floats = NDArray[np.float64]
type Bools = NDArray[np.bool_]
type AnyArray = NDArray[Any]
