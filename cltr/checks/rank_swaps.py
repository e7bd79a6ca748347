r"""How well a log determines position bias, from documents shown at several ranks.

A document that was clicked and shown at ranks j and k compares these ranks at equal relevance.
Under position bias its clicks have expectation :math:`n(d, k)\, \theta_k R_d`. Given how often it
was clicked in all, relevance cancels, and the clicks fall on ranks with the probabilities
:math:`p_{dk} = n(d, k)\, \theta_k / \sum_j n(d, j)\, \theta_j`. The likelihood of
:math:`\log \theta` is concave, and its Fisher information is a graph between ranks:

.. math:: I_{jk} = -\sum_d c(d)\, p_{dj}\, p_{dk} \quad (j \ne k), \qquad c(d) = \sum_k c(d, k)

Ranks that no clicked document connects cannot be compared. Where they are connected, the inverse
gives the standard error of :math:`\log(\theta_k / \theta_1)`.
"""

from dataclasses import dataclass

import numpy as np

from cltr.types import ClickStatistics, Floats, Integers

MOST_RANKS = 100
"""Ranks that are compared, from the first; work grows with their square, and clicks are there."""
STEPS = 50
"""Most Newton steps; the likelihood is concave, and ten are usual."""
LARGEST_STEP = 2.0
"""Most that the logarithm of an examination may move in a step."""
SMALLEST_GRADIENT = 1e-9
"""Clicks, as a share of all, that the fitted examination may leave unexplained at a rank."""


@dataclass(frozen=True)
class RankSwaps:
    """What documents shown at several ranks of the same query say about pairs of ranks.

    K is the number of ranks shown, and at most ``MOST_RANKS``.
    """

    impressions: Floats
    """Impressions of one document at both ranks, ``[K, K]``: sum of min(n(d,j), n(d,k))."""
    documents: Integers
    """Documents shown at both ranks, ``[K, K]``; on the diagonal, documents shown at the rank."""
    information: Floats
    """Information of clicks about two ranks, ``[K, K]``: -I(j, k), and 0 on the diagonal."""
    examination: Floats
    """Examination against the first connected rank, ``[K]``; NaN where it is not determined."""
    errors: Floats
    """Standard error of its logarithm, ``[K]``: 0.1 is about 10%; infinite if not determined."""
    groups: tuple[tuple[int, ...], ...]
    """Ranks, from 1, that clicked documents connect; the group with most impressions first."""
    clicks: Integers
    """Clicks by rank, on all documents, of all ranks."""
    largest_query: float
    """Share of the information that comes from one query."""

    @property
    def connected(self) -> tuple[int, ...]:
        """Ranks, from 1, of the main group; empty if no two ranks can be compared."""
        return self.groups[0] if self.groups and len(self.groups[0]) > 1 else ()

    def determined(self, largest_error: float) -> float:
        """Share of clicks below the reference rank at ranks known within a standard error.

        Clicks at the reference rank do not count: its examination is 1 by definition.
        """
        counted = self.clicks.astype(np.float64)
        if self.connected:
            counted[self.connected[0] - 1] = 0.0
        if not self.connected or counted.sum() == 0:
            return 0.0
        known = np.flatnonzero(self.errors <= largest_error)
        return float(counted[known].sum() / counted.sum())


def rank_swaps(statistics: ClickStatistics) -> RankSwaps:
    """Count swaps, and fit examination to them.

    Example:
        >>> shown, clicks = np.array([[60, 40], [40, 60]]), np.array([[30, 10], [20, 15]])
        >>> found = rank_swaps(
        ...     ClickStatistics(shown, clicks, np.array([100]), np.array([0, 2]))
        ... )
        >>> found.groups, found.examination.round(2).tolist()
        (((1, 2),), [1.0, 0.5])
    """
    shown = statistics.impressions[:, :MOST_RANKS]
    several = (shown > 0).sum(-1) > 1
    seen = (shown > 0).astype(np.float64)
    moved = shown[several].astype(np.float64)
    top_k = shown.shape[1]
    pairs = np.stack([np.minimum(moved, moved[:, [k]]).sum(0) for k in range(top_k)])
    np.fill_diagonal(pairs, 0.0)
    owners = np.repeat(np.arange(len(statistics.displays)), np.diff(statistics.offsets))[several]
    logs, information, scores, shares = _fit(
        moved, statistics.clicks[several, :MOST_RANKS].astype(np.float64)
    )
    groups = _groups(information, shown.sum(0))
    examination, errors = np.full(top_k, np.nan), np.full(top_k, np.inf)
    if groups and len(groups[0]) > 1:
        main = np.array(groups[0]) - 1
        examination[main] = np.exp(logs[main] - logs[main[0]])
        errors[main] = _errors(information, scores, owners, main)
    return RankSwaps(
        pairs,
        (seen.T @ seen).astype(np.int64),
        information,
        examination,
        errors,
        groups,
        statistics.clicks.sum(0),
        float(np.bincount(owners, shares).max(initial=0.0)),
    )


def _fit(shown: Floats, clicks: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Log examination, information about ranks, and each document's score and share, by Newton."""
    shown, clicks = _comparable(shown, clicks)
    logs = np.zeros(shown.shape[1])
    totals = clicks.sum(-1, keepdims=True)
    for step in range(STEPS + 1):
        expected = shown * np.exp(logs)
        chances = expected / np.maximum(expected.sum(-1, keepdims=True), 1e-300)
        scores = clicks - totals * chances
        information = (totals * chances).T @ chances
        np.fill_diagonal(information, 0.0)
        gradient = scores.sum(0)
        if step == STEPS or np.abs(gradient).max() <= SMALLEST_GRADIENT * max(totals.sum(), 1.0):
            break
        move = np.linalg.pinv(_laplacian(information), hermitian=True) @ gradient
        logs = logs + move * min(1.0, LARGEST_STEP / max(np.abs(move).max(), 1e-300))
    each = totals[:, 0] * (1 - (chances**2).sum(-1)) * (totals[:, 0] > 0)
    return logs, information, scores, each / max(each.sum(), 1e-300)


def _comparable(shown: Floats, clicks: Floats) -> tuple[Floats, Floats]:
    """The same arrays, with 0 where nothing can be compared.

    A rank at which no such document was clicked has an examination of 0 as far as the log tells,
    and a document that is left with one rank compares nothing.
    """
    while True:
        useful = (shown * (clicks.sum(0) > 0) > 0) & (clicks.sum(-1, keepdims=True) > 0)
        useful &= useful.sum(-1, keepdims=True) > 1
        if (useful == (shown > 0)).all():
            return shown, clicks
        shown, clicks = shown * useful, clicks * useful


def _laplacian(information: Floats) -> Floats:
    return np.asarray(np.diag(information.sum(0)) - information)


def _groups(information: Floats, impressions: Integers) -> tuple[tuple[int, ...], ...]:
    """Connected ranks, those with most impressions first; ranks that were never shown are none."""
    label = np.arange(len(information))
    near = (information > 0) | np.eye(len(label), dtype=bool)
    while True:
        spread = np.where(near, label, len(label)).min(-1)
        if (spread == label).all():
            break
        label = spread
    found = [np.flatnonzero(label == first) for first in np.unique(label[impressions > 0])]
    found.sort(key=lambda ranks: (len(ranks) == 1, -impressions[ranks].sum()))
    return tuple(tuple(int(rank) + 1 for rank in ranks) for ranks in found)


def _errors(information: Floats, scores: Floats, owners: Integers, main: Integers) -> Floats:
    """Standard errors of log examination against the group's first rank.

    The larger of two: that of independent clicks, and that of independent queries, which is larger
    where position bias differs between queries.
    """
    among = np.ix_(main, main)
    inverse: Floats = np.asarray(
        np.linalg.pinv(_laplacian(information[among]), hermitian=True), np.float64
    )
    queries, place = np.unique(owners, return_inverse=True)
    sums = np.stack([np.bincount(place, scores[:, rank], len(queries)) for rank in main], -1)
    few = len(queries) / max(len(queries) - 1, 1)
    robust = inverse @ (few * sums.T @ sums) @ inverse

    def against_first(covariance: Floats) -> Floats:
        own = np.diag(covariance)
        return np.asarray(own + own[0] - 2 * covariance[0])

    variance = np.maximum(against_first(inverse), against_first(robust))
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))
