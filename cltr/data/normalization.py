r"""Feature normalisation: fitted on the training split alone, stored, applied to all else.

========================  =========================================================================
``none``                  features as they are
``z-score``               :math:`(x - m) / s` with mean m and deviation s of each feature
``log1p-z-score``         the same, of :math:`\text{sign}(x) \log(1 + |x|)`: for long tails
``query-min-max``         :math:`(x - \min) / (\max - \min)` over each query's own list
========================  =========================================================================

A feature that does not vary in what was fitted becomes 0.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.errors import OptionError
from cltr.options import did_you_mean

NORMALIZATIONS = ("none", "z-score", "log1p-z-score", "query-min-max")
Matrix = NDArray[np.float32]
_LARGEST = float(np.finfo(np.float32).max)


def _nothing() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(frozen=True)
class Normalization:
    """A fitted normalisation.

    Example:
        >>> fitted = fit_normalization("z-score", [np.array([[1.0], [3.0]], np.float32)])
        >>> fitted.apply(np.array([[5.0]], np.float32), np.array([0, 1]))
        array([[3.]], dtype=float32)
    """

    name: str = "none"
    center: NDArray[np.float64] = field(default_factory=_nothing)
    """Mean of each feature, ``[features]``; empty where nothing is fitted."""
    scale: NDArray[np.float64] = field(default_factory=_nothing)
    """Deviation of each feature, infinite where there is none, ``[features]``."""

    def apply(self, features: Matrix, offsets: NDArray[Any]) -> Matrix:
        """Normalise raw features of whole lists.

        Args:
            features: ``[docs, features]``
            offsets: where each query's list begins, and the end, ``[queries + 1]``.
        """
        if self.name == "none":
            return features
        if self.name == "query-min-max":
            return _by_query(features, offsets)
        values = _spread(self.name, features)
        values -= self.center
        values /= self.scale
        return _narrow(values)

    def undo(self, features: Matrix) -> Matrix:
        """Raw features that give these; of those that do not vary, and by query, some such."""
        if self.name in ("none", "query-min-max"):
            return features
        scale = np.where(np.isinf(self.scale), 0.0, self.scale)
        values = features.astype(np.float64) * scale + self.center
        if self.name == "log1p-z-score":
            values = np.copysign(np.expm1(np.abs(values)), values)
        return _narrow(values)


def fit_normalization(name: str, blocks: Iterable[Matrix]) -> Normalization:
    """Fit to training features, block by block.

    Mean and sum of squares are kept apart for each block and joined (Chan et al.), so nothing is
    lost where a feature's mean is large beside its deviation.
    """
    check_normalization(name)
    if name in ("none", "query-min-max"):
        return Normalization(name)
    n = 0
    mean: Any = 0.0
    squares: Any = 0.0
    for block in blocks:
        values = _spread(name, block)
        block_mean = values.mean(0)
        values -= block_mean
        shift = block_mean - mean
        total = n + len(values)
        squares = squares + np.square(values).sum(0) + shift**2 * (n * len(values) / total)
        mean = mean + shift * (len(values) / total)
        n = total
    deviation = np.sqrt(squares / n)
    # What rounding leaves of a feature that never varies is no deviation.
    constant = deviation <= 1e-12 * np.abs(mean)
    return Normalization(name, mean, np.where(constant, np.inf, deviation))


def check_normalization(name: str) -> None:
    """Refuse a name that is none of ``NORMALIZATIONS``."""
    if name not in NORMALIZATIONS:
        known = ", ".join(NORMALIZATIONS)
        hint = did_you_mean(name, NORMALIZATIONS)
        raise OptionError(f"no normalisation named '{name}'; there are {known}{hint}")


def _spread(name: str, features: Matrix) -> NDArray[np.float64]:
    values = features.astype(np.float64)
    if name == "log1p-z-score":
        return np.copysign(np.log1p(np.abs(values)), values)
    return values


def _by_query(features: Matrix, offsets: NDArray[Any]) -> Matrix:
    starts, lengths = offsets[:-1] - offsets[0], np.diff(offsets)
    values = features.astype(np.float64)
    low = np.minimum.reduceat(values, starts, axis=0)
    span = np.maximum.reduceat(values, starts, axis=0) - low
    span[span == 0] = 1.0
    values -= np.repeat(low, lengths, axis=0)
    values /= np.repeat(span, lengths, axis=0)
    return _narrow(values)


def _narrow(values: NDArray[np.float64]) -> Matrix:
    """To 32 bits; a value far beyond all that was fitted stays finite."""
    return np.clip(values, -_LARGEST, _LARGEST, out=values).astype(np.float32)
