r"""Compiled E-step of users who read down the list, on the tails below last clicks.

Below the last click nothing was clicked. With :math:`a_r` the attraction of the tail's documents,
:math:`t` the probability of going on after the last click (1 if there was none) and :math:`g` of
going on after a skip,

.. math:: N_r = P(\text{no click from } r \text{ on} | E_r = 1) = (1 - a_r)(1 - g + g N_{r+1})

and 1 - a at the end of the list. Then :math:`P(\text{tail}) = 1 - t + t N_1`, the user went on
with probability :math:`t N_1 / P(\text{tail})`, and from there on from r to r + 1 with
:math:`g N_{r+1} / (1 - g + g N_{r+1})`. Logarithms of N are summed, so long lists do not
underflow. A query's tails touch its own documents only: queries run in parallel, and results do
not depend on the number of threads.
"""
# mypy: ignore-errors

import math

import numpy as np
from numba import njit, prange

_JIT = {"cache": True, "error_model": "numpy"}


@njit(parallel=True, **_JIT)
def expect_tails(starts, below, times, goes_on, after_skip, attraction):
    """Expected reading below last clicks.

    ``starts`` says where each query's tails begin, ``[queries + 1]``; ``below`` and ``times`` are
    those of ``Tails``; ``goes_on`` is t, ``[tails]``; ``after_skip`` is g.

    Returns:
        How often each document was read in tails, ``[docs]``; the probability that the user went
        on below the last click, ``[tails]``; how often a skip was followed by reading, and by
        leaving; and the log-likelihood of the tails.
    """
    n_tails, top_k = below.shape
    reading = np.zeros(len(attraction))
    went_on = np.empty(n_tails)
    sums = np.zeros((len(starts) - 1, 3))
    skip = 1.0 - attraction
    log_skip = np.log1p(-attraction)
    for query in prange(len(starts) - 1):
        none = np.empty(top_k + 1)
        for tail in range(starts[query], starts[query + 1]):
            length = 0
            while length < top_k and below[tail, length] >= 0:
                length += 1
            log_none = 0.0
            for place in range(length - 1, -1, -1):
                document = below[tail, place]
                if place == length - 1:
                    none[place] = skip[document]
                    log_none = log_skip[document]
                else:
                    stay = after_skip * none[place + 1]
                    if after_skip < 1.0:
                        log_none = math.log(1.0 - after_skip + stay) + log_skip[document]
                        none[place] = skip[document] * (1.0 - after_skip + stay)
                    else:
                        log_none += log_skip[document]
                        none[place] = skip[document] * stay
            t = goes_on[tail]
            if t < 1.0:
                likelihood = 1.0 - t + t * none[0]
                on = t * none[0] / likelihood
                sums[query, 2] += times[tail] * math.log(likelihood)
            else:
                on = 1.0
                sums[query, 2] += times[tail] * log_none
            went_on[tail] = on
            for place in range(length):
                reading[below[tail, place]] += times[tail] * on
                if place < length - 1:
                    stay = after_skip * none[place + 1]
                    share = stay / (1.0 - after_skip + stay) if after_skip < 1.0 else 1.0
                    sums[query, 0] += times[tail] * on * share
                    sums[query, 1] += times[tail] * on * (1.0 - share)
                    on *= share
    totals = sums.sum(0)
    return reading, went_on, totals[0], totals[1], totals[2]
