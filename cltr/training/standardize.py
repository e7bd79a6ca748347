r"""Inputs that a network can learn from, whatever scale features come on.

.. math:: z = \text{clip}\Big(\frac{u(x) - m}{s}, -10, 10\Big), \qquad
          u(x) = \text{sign}(x) \log(1 + |x| / c) \text{ where a feature has a long tail, else } x

with mean m and deviation s of u on the training queries, and c the median size of values that are
not 0. A feature that does not vary becomes 0.
"""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from cltr.documents import State
from cltr.training.cache_blocks import cache_blocks
from cltr.training.threads import by_threads
from cltr.types import Booleans, Floats

FARTHEST = 10.0
"""Deviations from the mean beyond which a value counts no further."""
LONG_TAIL = 20.0
"""Deviations, by the middle half of the values, that only a long tail reaches."""
SAMPLE = 200_000
"""Documents that are looked at; more would change nothing."""
ROWS_AT_ONCE = 1024
"""Documents of a block that one thread standardises: a step of training has several blocks."""
COLUMNS_AT_ONCE = 8
"""Features that are fitted together: bounds memory."""
PREFIX = "inputs/"
Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Standardization:
    """Fitted to training documents; part of a model's state."""

    tailed: Booleans
    """Features with a long tail, ``[features]``."""
    unit: Floats
    """c, ``[features]``."""
    center: Floats
    """m, ``[features]``."""
    scale: Floats
    """s, infinite for a feature that does not vary, ``[features]``."""

    def apply(self, features: Matrix) -> Matrix:
        """Standardise raw features, ``[docs, features]``.

        Example:
            >>> raw = np.array([[1.0, 7.0], [3.0, 7.0]], np.float32)
            >>> fit_standardization(raw).apply(raw)
            array([[-1.,  0.],
                   [ 1.,  0.]], dtype=float32)
        """
        features = np.asarray(features)  # rows of several files may be joined
        found = np.empty(features.shape, np.float32)
        blocks = cache_blocks(len(features), ROWS_AT_ONCE)
        by_threads(lambda rows: self._apply(features[rows], found[rows]), blocks)
        return found

    def _apply(self, features: Matrix, found: Matrix) -> None:
        from cltr.kernels.standardizing import standardize

        standardize(features, self.center, self.scale, FARTHEST, found)
        if self.tailed.any():
            found[:, self.tailed] = self._apply_tailed(features[:, self.tailed])

    def _apply_tailed(self, features: Matrix) -> Floats:
        """The same of the features with a long tail alone, ``[docs, tailed]``."""
        values = _shortened(features.astype(np.float64), self.unit[self.tailed])
        values -= self.center[self.tailed]
        values /= self.scale[self.tailed]
        return np.clip(values, -FARTHEST, FARTHEST, out=values)

    def state(self) -> dict[str, NDArray[np.generic]]:
        """As arrays of a model's state."""
        return {f"{PREFIX}{each.name}": getattr(self, each.name) for each in fields(self)}

    @classmethod
    def of_state(cls, state: State) -> "Standardization | None":
        """What a model's state holds; None if its inputs are not standardised."""
        found = {
            name.removeprefix(PREFIX): np.array(array)
            for name, array in state.items()
            if name.startswith(PREFIX)
        }
        if not found:
            return None
        kinds = {"tailed": np.bool_, "unit": np.float64, "center": np.float64, "scale": np.float64}
        length = len(found["center"]) if found.get("center", np.empty(())).ndim == 1 else -1
        fits = found.keys() == kinds.keys() and all(
            found[name].dtype == kind and found[name].shape == (length,)
            for name, kind in kinds.items()
        )
        if not fits or np.isnan(found["scale"]).any() or not (found["scale"] > 0).all():
            raise ValueError("what standardises the inputs is damaged")
        if not (np.isfinite(found["center"]).all() and (found["unit"] > 0).all()):
            raise ValueError("what standardises the inputs is not finite")
        return cls(**found)


def fit_standardization(features: Matrix) -> Standardization:
    """Fit to the features of training documents, ``[docs, features]``."""
    sample = np.asarray(features[:: max(1, len(features) // SAMPLE)])
    n_features = sample.shape[1]
    starts = range(0, max(n_features - COLUMNS_AT_ONCE, 0) + 1, COLUMNS_AT_ONCE)
    # The last part has what is left besides: alone, a single column would be summed otherwise.
    ends = [*starts[1:], n_features]
    parts = by_threads(
        lambda some: _fit_columns(sample[:, slice(*some)].astype(np.float64)),
        zip(starts, ends, strict=True),
    )
    return Standardization(*(np.concatenate(of_parts) for of_parts in zip(*parts, strict=True)))


def _fit_columns(raw: Floats) -> tuple[Booleans, Floats, Floats, Floats]:
    """What the fields of :class:`Standardization` are for some features, ``[docs, some]``."""
    in_order = np.sort(raw.T)  # a row for each feature; by far the fastest way to its quantiles
    low, middle, high = (_quantile(in_order, share) for share in (0.25, 0.5, 0.75))
    spread = np.maximum(high - low, np.abs(middle)) / 1.35
    reach = np.maximum(in_order[:, -1] - middle, middle - in_order[:, 0])
    unit = np.array([_median_size(values) for values in in_order])
    tailed = reach > LONG_TAIL * np.where(spread > 0, spread, unit)
    shaped = _shaped(raw, tailed, unit)
    center, deviation = shaped.mean(0), shaped.std(0)
    # What rounding leaves of a feature that never varies is no deviation.
    constant = deviation <= 1e-7 * np.abs(center)
    return tailed, unit, center, np.where(constant, np.inf, deviation)


def _quantile(in_order: Floats, share: float) -> Floats:
    """Of each sorted row, with the bits of ``np.quantile``."""
    at = share * (in_order.shape[1] - 1)
    below = int(at)
    first, second = in_order[:, below], in_order[:, min(below + 1, in_order.shape[1] - 1)]
    part, gap = at - below, second - first
    found: Floats = second - gap * (1 - part) if part >= 0.5 else first + gap * part
    return found


def _median_size(in_order: Floats) -> float:
    """The median of sorted values' sizes, without those that are 0; 1 if all are."""
    first, last = np.searchsorted(in_order, 0.0), np.searchsorted(in_order, 0.0, side="right")
    sizes = np.sort(np.concatenate([-in_order[:first], in_order[last:]]))
    if not len(sizes):
        return 1.0
    return float(0.5 * (sizes[(len(sizes) - 1) // 2] + sizes[len(sizes) // 2]))


def _shaped(features: NDArray[np.floating], tailed: Booleans, unit: Floats) -> Floats:
    values = np.array(features, np.float64)
    if tailed.any():
        values[:, tailed] = _shortened(values[:, tailed], unit[tailed])
    return values


def _shortened(values: Floats, unit: Floats) -> Floats:
    """Values with a long tail, made to grow like logarithms."""
    return np.asarray(np.copysign(np.log1p(np.abs(values) / unit), values))
