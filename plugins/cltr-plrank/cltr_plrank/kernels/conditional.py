r"""StochasticRank's coordinate-conditional gradient, compiled, parallel over queries.

Fix the noisy scores of all documents but d; only d's own noise is integrated, analytically. With
the others in order :math:`o_1, o_2, \ldots`, d moves from above to below :math:`o_p` at
:math:`z_{o_p}`, and the metric changes by :math:`(w_p - w_{p+1})(\rho_d - \rho_{o_p})` there:

.. math:: \frac{\partial U}{\partial s_d} = E_{z_{-d}} \sum_{p=1}^{\min(K, n-1)}
          (w_p - w_{p+1})(\rho_d - \rho_{o_p})\, f(z_{o_p} - s_d), \quad w_{K+1} = 0,

f the density of the noise. Only the top K+1 of all noisy scores are needed: without d they are the
top K of the others.
"""

import math

import numpy as np
from numba import njit, prange

from cltr_plrank.kernels.sampled import masses, sorted_rates

_JIT = {"cache": True, "error_model": "numpy"}


@njit(parallel=True, **_JIT)
def arrivals(scores, lengths, order, rankings, gaps, own):
    r"""Turn standard exponentials into arrival times of ranked documents, in place; fill rates.

    Gumbel noise is minus the logarithm of an exponential clock. Given the order of arrival the
    gaps are independent exponentials with the rates of what is left, so a ranking drawn without
    noise gets its noise afterwards: K+1 random numbers instead of D.
    """
    for q in prange(len(lengths)):
        n = lengths[q]
        depth = min(n, rankings.shape[2])
        places = np.empty(n, np.int64)
        stamps = np.full(n, -1)
        remaining = np.empty(depth)
        ranked = np.empty(depth, np.int64)
        rates, tails = sorted_rates(scores[q], order[q, :n], places)
        for d in range(n):
            own[q, d] = rates[places[d]]
        for s in range(rankings.shape[1]):
            for k in range(depth):
                ranked[k] = places[rankings[q, s, k]]
            masses(rates, tails, ranked, stamps, s, remaining)
            time = 0.0
            for k in range(depth):
                time += gaps[q, s, k] / remaining[k]
                gaps[q, s, k] = time


@njit(parallel=True, **_JIT)
def noisy_tops(scores, lengths, seeds, rankings, values):
    """Draw scores with standard normal noise; keep the highest, in order, with their documents."""
    for q in prange(len(lengths)):
        np.random.seed(seeds[q])
        depth = min(lengths[q], rankings.shape[2])
        rankings[q] = -1
        for s in range(rankings.shape[1]):
            filled = 0
            for d in range(lengths[q]):
                value = scores[q, d] + np.random.normal()
                if filled < depth or value > values[q, s, depth - 1]:
                    filled = min(filled + 1, depth)
                    k = filled - 1
                    while k > 0 and values[q, s, k - 1] < value:
                        values[q, s, k] = values[q, s, k - 1]
                        rankings[q, s, k] = rankings[q, s, k - 1]
                        k -= 1
                    values[q, s, k] = value
                    rankings[q, s, k] = d


@njit(**_JIT)
def _density(gaussian, own, value):
    """Density of the noise that takes a document to another's noisy score.

    Normal: ``own`` is its score, ``value`` the other's noisy score, both in units of sigma.
    Gumbel: ``own`` is its rate and ``value`` the other's arrival time, since
    exp(-x - exp(-x)) = r t exp(-r t) for x = -log(r t).
    """
    if gaussian:
        return math.exp(-0.5 * (value - own) ** 2) / math.sqrt(2.0 * math.pi)
    hazard = own * value
    return hazard * math.exp(-hazard)


@njit(parallel=True, **_JIT)
def gradient(own, lengths, rankings, values, labels, drops, gaussian, out):
    """Write the mean over the samples of the module's formula into ``out``.

    Args:
        own: score or rate of each document, ``[queries, docs]``.
        lengths: ``[queries]``
        rankings: documents with the highest noisy scores, ``[queries, samples, K + 1]``.
        values: their noisy scores, or arrival times, same shape.
        labels: ``[queries, docs]``
        drops: :math:`w_p - w_{p+1}`, ``[K]``.
        gaussian: whether the noise is normal; Gumbel otherwise.
        out: zeros, ``[queries, docs]``.
    """
    for q in prange(len(lengths)):
        n = lengths[q]
        depth = min(len(drops), n - 1)
        for s in range(rankings.shape[1]):
            for d in range(n):
                passed = 0  # 1 once d itself was met among the ranked
                for p in range(depth):
                    if rankings[q, s, p + passed] == d:
                        passed = 1
                    other = rankings[q, s, p + passed]
                    jump = drops[p] * (labels[q, d] - labels[q, other])
                    if jump != 0.0:
                        out[q, d] += jump * _density(gaussian, own[q, d], values[q, s, p + passed])
        out[q] /= rankings.shape[1]
