"""The user browsing model."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cltr.clicks.counts import CellCounts
from cltr.clicks.fit_tools import FitOptions, Parameters
from cltr.errors import OptionError
from cltr.interfaces import Fittable
from cltr.types import Affine, Booleans, ClickLog, Dataset, Floats, Integers


class UBM(Fittable):
    r"""Examination depends on the rank and on the distance to the last click above.

    .. math:: P(C_r = 1 | C_{<r}) = \gamma_{r, r'} R_d

    with :math:`r'` the rank of the last click above, 0 if there is none. Given the clicks above,
    this is a position-based model with a position for each pair :math:`(r, r')`. So the same EM
    fits it, on counts by document and pair.

    References: Dupret and Piwowarski (SIGIR'08).
    """

    name = "ubm"

    class Options(FitOptions):
        """Examination, and options of the fit."""

        eta: float = Field(
            1.0,
            ge=0,
            allow_inf_nan=False,
            description=(
                "exponent of examination (r - r')**-eta at rank r after a click at r'; "
                "larger is more bias, 0 is none."
            ),
        )
        examination: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
            (),
            description=(
                "examination of the pairs (r, r') instead of eta, in the order (1,0), "
                "(2,0), (2,1), (3,0), ..."
            ),
        )

    options: "UBM.Options"
    needs_sessions = True

    def examination(self, top_k: int) -> Floats:
        """Return examination by pair (r, r') in the order (1,0), (2,0), (2,1), (3,0), ..."""
        rank, last = pairs(top_k)
        values = (rank - last).astype(np.float64) ** -self.options.eta
        if self.options.examination:
            values = np.array(self.options.examination)
        if self.fitted is not None:
            values = self.fitted.shared["examination"]
        if len(values) < len(rank):
            raise OptionError(
                f"click model '{self.name}' has values for {len(values)} pairs of ranks, but "
                f"{len(rank)} are needed for {top_k} ranks; use a smaller --top-k"
            )
        return values[: len(rank)]

    def probabilities(self, relevance: Floats, context: Mapping[str, NDArray[Any]]) -> Floats:
        del context
        shown, top_k = np.nan_to_num(relevance), relevance.shape[1]
        examination = self.examination(top_k)
        last = np.zeros((len(relevance), top_k + 1))  # P(last click above at rank r'), 0: none
        last[:, 0] = 1.0
        expected = np.empty(shown.shape)
        for r in range(top_k):
            clicks = last[:, : r + 1] * examination[pair(r, 0) : pair(r, r) + 1] * shown[:, [r]]
            expected[:, r] = clicks.sum(1)
            last[:, : r + 1] -= clicks
            last[:, r + 1] = expected[:, r]
        return expected

    def conditional_probabilities(
        self, relevance: Floats, clicks: Booleans, context: Mapping[str, NDArray[Any]]
    ) -> Floats:
        del context
        examination = self.examination(relevance.shape[1])
        return np.nan_to_num(relevance) * examination[pairs_of(clicks)]

    def sample(
        self, relevance: Floats, context: Mapping[str, NDArray[Any]], rng: np.random.Generator
    ) -> Booleans:
        del context
        shown, examination = np.nan_to_num(relevance), self.examination(relevance.shape[1])
        clicks = np.zeros(shown.shape, bool)
        last = np.zeros(len(shown), np.int64)
        for r in range(shown.shape[1]):
            clicks[:, r] = rng.random(len(shown)) < shown[:, r] * examination[pair(r, last)]
            last = np.where(clicks[:, r], r + 1, last)
        return clicks

    def count(self, chunk: ClickLog, offsets: Integers) -> CellCounts:
        from cltr_clickmodels.kernels import pairs as compiled

        keys, clicked = compiled.shown_keys(chunk.documents, chunk.clicks)
        n_pairs = chunk.top_k * (chunk.top_k + 1) // 2
        return CellCounts.of_keys(keys, clicked, n_pairs, offsets=offsets)

    def fit(self, counts: CellCounts, dataset: Dataset | None = None) -> Parameters:
        from cltr.clicks.affine_fit import fit_cells

        rank, last = pairs(int(np.sqrt(2 * counts.n_cells)))
        start = Affine(0.9 / (rank - last), np.zeros(len(rank)))  # EM never leaves a start at 1
        self.fitted = fit_cells(counts, start, self.options, dataset)
        return self.fitted

    def infer(self, counts: CellCounts, dataset: Dataset | None = None) -> Floats:
        from cltr.clicks.affine_fit import infer_cells

        if self.fitted is not None and self.fitted.networks:
            return self.relevance(dataset)
        examination = self.examination(int(np.sqrt(2 * counts.n_cells)))
        affine = Affine(examination, np.zeros(len(examination)))
        return infer_cells(counts, affine, self.options, self.fitted)


def pair(rank: Any, last: Any) -> Any:
    """Return the number of a pair: rank from 0, rank of the last click above from 1 (0: none)."""
    return rank * (rank + 1) // 2 + last


def pairs(top_k: int) -> tuple[Integers, Integers]:
    """Return ranks and last clicks of all pairs in order, both from 1 (0: no click above).

    Example:
        >>> pairs(3)
        (array([1, 2, 2, 3, 3, 3]), array([0, 0, 1, 0, 1, 2]))
    """
    rank = np.repeat(np.arange(1, top_k + 1), np.arange(1, top_k + 1))
    return rank, np.arange(len(rank)) - rank * (rank - 1) // 2


def pairs_of(clicks: Booleans) -> Integers:
    """Return the number of each rank's pair, given the clicks, ``[interactions, K]``."""
    ranks = np.arange(clicks.shape[1])
    reached = np.maximum.accumulate(np.where(clicks, ranks + 1, 0), axis=1)
    last = np.concatenate([np.zeros((len(clicks), 1), np.int64), reached[:, :-1]], axis=1)
    numbers: Integers = pair(ranks, last)
    return numbers
