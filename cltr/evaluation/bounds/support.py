r"""Whether a log supports an interval at all. Where it does not, the estimate has none.

Intervals by t and by bootstrap learn from the terms of a log how far its mean may be off. They
cannot know of what did not occur. Two questions tell whether that matters. Neither looks at clicks:

*Few clicks decide.* A click on a document d adds :math:`x_d = \omega_d/\rho_{0,d}` to the estimate.
If a few documents with tiny propensities have most of the weight, the estimate is too low in most
logs and far too high in some. By policy and propensities alone, the third moment of what clicks add
is that of so many equal clicks:

.. math:: n^* = \frac{(\sum_d n_d x_d^2)^3}{(\sum_d n_d |x_d|^3)^2}

with :math:`n_d` the most clicks that d is expected to get. Below :data:`FEWEST_CLICKS` there is no
interval.

*One more query could change the result.* A value by query lies within limits that the policy gives.
If one more query of average traffic, at the farther limit, would move the mean by more than
:data:`FARTHEST` standard errors, then queries that lose everything may be missing from the log, and
the error with them.
"""

import numpy as np

from cltr.evaluation.bounds.clusters import ClusterTotals
from cltr.evaluation.bounds.interval import Limits, MeanInterval
from cltr.types import Floats

FEWEST_CLICKS = 20.0
"""Measured on simulated logs with 200 queries: nominal 95% intervals of a difference by IPS
contained the truth in 94.9% of 2,089 logs with 20 equal clicks or more, in 93.6% of 1,284 with 10
to 20 and of 2,611 with fewer, and in 88.6% of 1,000 with less than 1."""
FARTHEST = 3.0
"""Measured where 0.5% of 150 queries lose everything: it is 7 in logs without such a query, which
the interval would miss, and 1 in logs with one. With 5 ordinary queries it is 2."""


def equal_clicks(sizes: Floats, expected: Floats) -> float:
    """To how many equal clicks the expected clicks come down; infinite if none adds anything.

    Args:
        sizes: what one click adds, ``[docs]``, of either sign.
        expected: the most clicks that each document is expected to get, ``[docs]``.

    Example:
        >>> equal_clicks(np.array([2.0, 2.0]), np.array([30.0, 20.0]))
        50.0
        >>> round(equal_clicks(np.array([1.0, 100.0]), np.array([1000.0, 0.1])), 2)
        0.78
    """
    sizes = np.where(expected > 0, np.abs(sizes), 0.0)
    largest = float(sizes.max(initial=0.0))
    if largest == 0:
        return float("inf")
    relative = sizes / largest  # powers of very large weights would overflow
    second, third = float(expected @ relative**2), float(expected @ relative**3)
    return second**3 / third**2


def few_clicks(sizes: Floats, expected: Floats) -> str | None:
    """Why clicks of these sizes support no interval, in a sentence; None if they do.

    Example:
        >>> few_clicks(np.array([1.0, 100.0]), np.array([1000.0, 0.1]))
        'too few clicks decide: they weigh as much as 1 equal clicks, and an interval needs 20'
    """
    found = equal_clicks(sizes, expected)
    if found >= FEWEST_CLICKS:
        return None
    return (
        f"too few clicks decide: they weigh as much as {found:.0f} equal clicks, and an interval "
        f"needs {FEWEST_CLICKS:.0f}"
    )


def unseen_query(interval: MeanInterval, totals: ClusterTotals, limits: Limits) -> str | None:
    """Why clusters within these limits support no interval, in a sentence; None if they do.

    Args:
        interval: of the mean over all clusters.
        totals: of the clusters.
        limits: the least and the most that the mean of a cluster can be.

    Example:
        >>> from cltr.evaluation.bounds import t_interval
        >>> totals = ClusterTotals(np.linspace(0.50, 0.52, 20), np.ones(20))
        >>> found = t_interval(totals, confidence=0.95, target="new queries")
        >>> unseen_query(found, totals, Limits(0.0, 1.0))
        'one more query could move the estimate by 0.0255, and its standard error is 0.0014'
    """
    if not np.isfinite(interval.error):
        return "there is only one query"
    reach = max(interval.value - limits.low, limits.high - interval.value)
    moved = reach / len(totals.seen()[0])
    if moved <= FARTHEST * interval.error or limits.width == 0:
        return None
    return (
        f"one more query could move the estimate by {moved:.4f}, and its standard error is "
        f"{interval.error:.4f}"
    )
