r"""From sampled rankings to gradients of scores, compiled, parallel over queries.

All estimates of the family have one form. Let :math:`r` be the rank of document d in a sampled
ranking, cut at K, :math:`\lambda_d = e^{s_d}`, and :math:`S_k` the sum of :math:`\lambda` over the
documents that are not ranked before k, so that :math:`\pi(d | y_{<k}) = \lambda_d / S_k`:

.. math:: \text{grad}_d = \text{direct}_r \, 1[r \le K]
          + \lambda_d \sum_{k \le \min(r, K)} \frac{w_k \rho_d - \text{common}_k}{S_k} .

Documents outside the top K share the sums over k, so these are kept once per ranking:
O(K) a ranking and O(D) a query (:func:`gradient`). :func:`gradient_by_document` writes the same sum
out for every document, O(K D) a ranking.

*No cancellation.* :math:`S_K` is found from sorted tails, :math:`S_k = S_{k+1} + \lambda_{y_k}`
backwards from it. A document near the top is nearly always ranked, and the shared sums of the
rankings that have it may be as large as :math:`1/\lambda` of the lightest: they must not be
added and taken off again. So shared sums are kept by the first place that a ranking leaves
free: all documents before it are ranked, and to those behind it :math:`\lambda_d / S_k \le 1`.
"""

import math

import numpy as np
from numba import njit, prange

FLOOR = -600.0
"""Logarithm of the least rate, the highest being 1; as where rankings are drawn."""
WIDEST_GAP = 40.0
"""Across a wider gap nobody overtakes (the chance is below 1e-17), so wider ones count as this."""
_JIT = {"cache": True, "error_model": "numpy"}


@njit(**_JIT)
def sorted_rates(scores, order, places):
    """Rates by falling score, the sum of all from each place on, and each document's place."""
    n = len(order)
    rates = np.empty(n)
    tails = np.zeros(n + 1)
    level = 0.0
    for p in range(n):
        if p > 0:
            gap = min(scores[order[p - 1]] - scores[order[p]], WIDEST_GAP)
            level = max(level - gap, FLOOR)
        rates[p] = math.exp(level)
        places[order[p]] = p
    for p in range(n - 1, -1, -1):
        tails[p] = tails[p + 1] + rates[p]
    return rates, tails


@njit(**_JIT)
def masses(rates, tails, ranked, stamps, stamp, remaining):
    """Fill ``remaining[k]``, the rate of all documents not ranked before k.

    Returns the first place that is not ranked.
    """
    depth = len(ranked)
    for k in range(depth):
        stamps[ranked[k]] = stamp
    first = 0
    while first < len(rates) and stamps[first] == stamp:
        first += 1
    mass = tails[first]
    for k in range(depth):
        if ranked[k] > first:
            mass -= rates[ranked[k]]
    for k in range(depth - 1, -1, -1):
        mass += rates[ranked[k]]
        remaining[k] = mass
    return first


@njit(parallel=True, **_JIT)
def returns(rankings, labels, weights, out):
    r"""Fill ``out[q, s, k]`` with :math:`\sum_{x \ge k} w_x \rho_{y_x}`, what comes from k on."""
    for q in prange(rankings.shape[0]):
        for s in range(rankings.shape[1]):
            total = 0.0
            for k in range(rankings.shape[2] - 1, -1, -1):
                document = rankings[q, s, k]
                if document >= 0:
                    total += weights[k] * labels[q, document]
                out[q, s, k] = total


@njit(parallel=True, **_JIT)
def gradient(scores, lengths, order, rankings, labels, weights, direct, common, out):
    """Write the mean over the rankings of the module's formula into ``out``."""
    for q in prange(len(lengths)):
        n = lengths[q]
        if n > 0:
            _gradient_of_list(
                scores[q],
                order[q, :n],
                rankings[q, :, : min(n, rankings.shape[2])],
                labels[q],
                weights,
                direct[q],
                common[q],
                out[q],
            )


@njit(**_JIT)
def _gradient_of_list(scores, order, rankings, labels, weights, direct, common, out):
    n = len(order)
    n_samples, depth = rankings.shape
    places = np.empty(n, np.int64)
    rates, tails = sorted_rates(scores, order, places)
    stamps = np.full(n, -1)
    ranked = np.empty(depth, np.int64)
    remaining = np.empty(depth)
    shared = np.zeros((2, depth + 1))
    for s in range(n_samples):
        for k in range(depth):
            ranked[k] = places[rankings[s, k]]
        first = masses(rates, tails, ranked, stamps, s, remaining)
        _add(
            rankings[s],
            ranked,
            rates,
            remaining,
            first,
            labels,
            weights,
            direct[s],
            common[s],
            shared,
            out,
        )
    _share_out(order, rates, labels, shared, n_samples, out)


@njit(**_JIT)
def _add(ranking, ranked, rates, remaining, first, labels, weights, direct, common, shared, out):
    """Add one ranking: to its own documents at once, to the others by ``shared``."""
    own = 0.0
    pulled = 0.0
    for k in range(len(ranked)):
        own += weights[k] / remaining[k]
        pulled += common[k] / remaining[k]
        document = ranking[k]
        rate = rates[ranked[k]]
        out[document] += direct[k] + rate * (labels[document] * own - pulled)
    shared[0, first] += own
    shared[1, first] += pulled
    for k in range(len(ranked)):
        if ranked[k] > first:  # it will get the shared sums later, but had its own
            document = ranking[k]
            out[document] -= rates[ranked[k]] * (labels[document] * own - pulled)


@njit(**_JIT)
def _share_out(order, rates, labels, shared, n_samples, out):
    own = 0.0
    pulled = 0.0
    for p in range(len(order)):
        if p < shared.shape[1]:
            own += shared[0, p]
            pulled += shared[1, p]
        out[order[p]] += rates[p] * (labels[order[p]] * own - pulled)
        out[order[p]] /= n_samples


@njit(parallel=True, **_JIT)
def pl_rank(scores, lengths, order, rankings, labels, weights, out):
    """PL-Rank-3: :func:`gradient` with what comes behind and from each rank on, in one pass."""
    for q in prange(len(lengths)):
        n = lengths[q]
        depth = min(n, rankings.shape[2])
        if n > 0:
            places = np.empty(n, np.int64)
            rates, tails = sorted_rates(scores[q], order[q, :n], places)
            stamps = np.full(n, -1)
            ranked = np.empty(depth, np.int64)
            remaining = np.empty(depth)
            shared = np.zeros((2, depth + 1))
            gains = np.zeros(depth + 1)
            for s in range(rankings.shape[1]):
                for k in range(depth - 1, -1, -1):
                    document = rankings[q, s, k]
                    ranked[k] = places[document]
                    gains[k] = gains[k + 1] + weights[k] * labels[q, document]
                first = masses(rates, tails, ranked, stamps, s, remaining)
                _add(
                    rankings[q, s],
                    ranked,
                    rates,
                    remaining,
                    first,
                    labels[q],
                    weights,
                    gains[1:],
                    gains[:-1],
                    shared,
                    out[q],
                )
            _share_out(order[q, :n], rates, labels[q], shared, rankings.shape[1], out[q])


@njit(parallel=True, **_JIT)
def gradient_by_document(scores, lengths, order, rankings, labels, weights, direct, common, out):
    """As :func:`gradient`, summed for every document of every ranking."""
    for q in prange(len(lengths)):
        n = lengths[q]
        depth = min(n, rankings.shape[2])
        places = np.empty(n, np.int64)
        stamps = np.full(n, -1)
        remaining = np.empty(depth)
        ranked = np.empty(depth, np.int64)
        rates, tails = sorted_rates(scores[q], order[q, :n], places)
        for s in range(rankings.shape[1]):
            for k in range(depth):
                ranked[k] = places[rankings[q, s, k]]
            masses(rates, tails, ranked, stamps, s, remaining)
            for d in range(n):
                for k in range(depth):
                    chance = rates[places[d]] / remaining[k]
                    out[q, d] += chance * (weights[k] * labels[q, d] - common[q, s, k])
                    if ranked[k] == places[d]:
                        out[q, d] += direct[q, s, k]
                        break
        out[q] /= rankings.shape[1]
