"""What hypothesis draws: scores, rank weights, rewards, and ragged batches of lists."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from cltr.types import Lists


def floats(low: float, high: float) -> st.SearchStrategy[float]:
    """Finite numbers of a range, without the subnormal ones."""
    return st.floats(low, high, allow_nan=False, allow_subnormal=False)


def arrays(n: int, low: float, high: float) -> st.SearchStrategy[np.ndarray]:
    """``[n]`` numbers of a range."""
    return npst.arrays(np.float64, n, elements=floats(low, high))


def scores(n: int) -> st.SearchStrategy[np.ndarray]:
    """Scores of one list, from flat to very peaked, ``[n]``."""
    scales = st.sampled_from([0.1, 1.0, 6.0, 20.0])
    return st.builds(lambda scale, unit: scale * unit, scales, arrays(n, -1.0, 1.0))


def rank_weights(max_k: int = 6) -> st.SearchStrategy[np.ndarray]:
    """Any metric weights, rising, falling or negative, ``[K]``."""
    return st.integers(1, max_k).flatmap(lambda k: arrays(k, -1.0, 1.0))


class Batch(NamedTuple):
    """A few lists end to end."""

    scores: np.ndarray
    offsets: np.ndarray

    @property
    def lists(self) -> Lists:
        return Lists.of_offsets(self.offsets)

    def padded(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        """The same lists as rows, padding at the end: scores (-inf on padding) and mask."""
        lengths = np.diff(self.offsets)
        mask = np.arange(width) < lengths[:, None]
        rows = np.full(mask.shape, -np.inf)
        rows[mask] = self.scores
        return rows, mask


@st.composite
def batches(draw: st.DrawFn, max_lists: int = 4, max_docs: int = 8) -> Batch:
    """One to four lists of zero to eight documents."""
    lengths = draw(st.lists(st.integers(0, max_docs), min_size=1, max_size=max_lists))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Batch(draw(scores(int(offsets[-1]))), offsets)
