"""Terms between 0 and 1 that count alike, as tests of bounds take them."""

import numpy as np

from cltr.evaluation.bounds import (
    Limits,
)

UNIT = Limits(0.0, 1.0)

ONES = np.ones(1)
