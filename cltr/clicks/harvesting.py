r"""Position bias from documents that were shown at several ranks, with no model of relevance.

Under position bias a document's click rate at rank k is :math:`\theta_k R_d`, so the ratio of the
click rates of *the same documents* at two ranks is that of their examination, whatever their
relevance. Such changes of rank, by a stochastic ranker, a test or a new index, are interventions
that a log holds for free.

With trust bias the ratios are those of click probabilities, not of examination: fit ``trust-bias``.

References: Agarwal et al. (WSDM'19); Joachims et al. (WSDM'17).
"""

from dataclasses import dataclass

import numpy as np

from cltr.errors import DataError
from cltr.types import Booleans, ClickStatistics, Floats


@dataclass(frozen=True)
class Interventions:
    """Weighted clicks and skips of documents that were shown at both of two ranks.

    A document adds its click rate at k once for each pair, weighted by the impressions of the rank
    where it was shown less: ``clicks[k, j] / (clicks + skips)[k, j]`` is the click rate at k of the
    documents that were also shown at j, and that of ``[j, k]`` of the same documents at j.
    """

    clicks: Floats
    """``[K, K]``"""
    skips: Floats
    """``[K, K]``"""

    @property
    def rates(self) -> Floats:
        """Click rate at the row's rank of documents also shown at the column's, ``[K, K]``."""
        shown = self.clicks + self.skips
        rates: Floats = np.divide(
            self.clicks, shown, out=np.full(shown.shape, np.nan), where=shown > 0
        )
        return rates


def harvest(statistics: ClickStatistics) -> Interventions:
    """Collect what documents shown at two ranks say about each pair of ranks.

    Documents are added up in order: a matrix product would give other last digits on another
    processor, and in a worker process with another number of threads.
    """
    shown = statistics.impressions.astype(np.float64)
    rate = np.divide(statistics.clicks, shown, out=np.zeros(shown.shape), where=shown > 0)
    top_k = statistics.top_k
    clicks, skips = np.zeros((top_k, top_k)), np.zeros((top_k, top_k))
    for k in range(top_k):
        weight = np.minimum(shown, shown[:, [k]])  # the same weight at both ranks
        clicks[k] = (rate[:, [k]] * weight).sum(0)
        skips[k] = ((1.0 - rate[:, [k]]) * weight).sum(0)
    return Interventions(clicks, skips)


def pivot(statistics: ClickStatistics) -> Floats:
    r"""Examination against the first rank: :math:`\theta_k/\theta_1 = c_k^{(1,k)} / c_1^{(1,k)}`.

    Uses only documents that were also shown first; NaN where there are none.
    """
    rates = harvest(statistics).rates
    return _ratio(rates[:, 0], rates[0, :])


def adjacent_chain(statistics: ClickStatistics) -> Floats:
    """The product of the ratios of neighbouring ranks; NaN from where the chain breaks."""
    rates = harvest(statistics).rates
    steps = _ratio(np.diag(rates, -1), np.diag(rates, 1))
    chain: Floats = np.cumprod(np.concatenate([[1.0], steps]))
    return chain


def all_pairs(
    statistics: ClickStatistics, *, iterations: int = 10_000, tolerance: float = 1e-13
) -> Floats:
    r"""Examination from all pairs of ranks at once, by maximum likelihood.

    .. math:: \max_{\theta, r} \sum_{k \ne j} c_k^{kj} \log(\theta_k r_{kj})
              + \neg c_k^{kj} \log(1 - \theta_k r_{kj}), \qquad r_{kj} = r_{jk}

    with r the mean relevance of the documents shown at both. It is a position-based model with
    pairs of ranks for documents, and fitted as one. NaN for ranks that share no document with the
    others; relative to the first rank.
    """
    from cltr.clicks.affine_em import Climber
    from cltr.clicks.counts import CellCounts
    from cltr.clicks.fit_tools import FitOptions
    from cltr.clicks.relevance import RelevanceTable
    from cltr.types import Affine

    found = harvest(statistics)
    counts = CellCounts(*_pairs(found), statistics.top_k, np.arange(statistics.top_k**2 + 1))
    if not counts.clicks.sum() > 0:
        raise DataError(
            "no document with clicks was shown at two ranks, so position bias cannot "
            "be estimated from swaps"
        )
    start = Affine(0.9 / np.arange(1, statistics.top_k + 1), np.zeros(statistics.top_k))
    options = FitOptions(iterations=iterations, tolerance=tolerance)
    climber = Climber(counts, start, smoothing=0.0)
    relevant, _, _ = climber.tabulate(RelevanceTable(0.0, 0.5), options).state
    known = counts.by_cell(counts.impressions) > 0
    known[[cell - 1 for cell in counts.unconnected()]] = False
    return np.where(known, relevant / relevant[0], np.nan) if known[0] else relevant * np.nan


def _pairs(found: Interventions) -> tuple[np.ndarray, Floats, Floats]:
    """Unordered pairs of ranks as documents, their two ranks as cells."""
    top_k = len(found.clicks)
    ranks = np.arange(top_k)
    first, second = np.minimum.outer(ranks, ranks), np.maximum.outer(ranks, ranks)
    keys = ((first * top_k + second) * top_k + ranks[:, None]).ravel()
    shown = (found.clicks + found.skips).ravel()
    kept = (shown > 0) & ~np.eye(top_k, dtype=bool).ravel()
    order = np.argsort(keys[kept])
    return keys[kept][order], shown[kept][order], found.clicks.ravel()[kept][order]


def randomised(statistics: ClickStatistics, which: Booleans | None = None) -> Floats:
    r"""Examination where ranks were drawn at random: click rates by rank, against the first.

    Args:
        statistics: of displays in which every document was equally likely at every rank.
        which: documents of queries whose ranks were random, ``[docs]``; all if None.
    """
    rows = slice(None) if which is None else which
    clicks, shown = statistics.clicks[rows].sum(0), statistics.impressions[rows].sum(0)
    rates = np.divide(clicks, shown, out=np.full(len(shown), np.nan), where=shown > 0)
    return _ratio(rates, np.full(len(rates), rates[0]))


def _ratio(above: Floats, below: Floats) -> Floats:
    usable = np.nan_to_num(below) > 0
    ratio: Floats = np.divide(above, below, out=np.full(len(above), np.nan), where=usable)
    return ratio
