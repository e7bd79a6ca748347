r"""How far a policy may move, by how much evidence there is.

.. math:: \delta = \min\Big(1, \max\big(\tfrac{10}{Q}, \tfrac{5}{\sqrt N}\big)\Big)

with Q queries and N interactions. A query is what a ranker generalises from: fifty queries say
little about the next one however often they came. Below ten queries nothing moves. Chosen by
experiment: ``docs/defaults.md``.
"""

import math

QUERIES_TO_MOVE = 10.0
INTERACTIONS_TO_MOVE = 25.0
NARROW = 0.8
"""Clip where something is in doubt."""
ROLLBACK = 1.0
"""Slope back towards the band that goes with a clip by evidence."""


def evidence_clip(n_interactions: int, n_queries: int) -> float:
    """The clip of a log with so many interactions on so many queries, in (0, 1].

    Args:
        n_interactions: N.
        n_queries: Q; 0 if it is not known, and then only N counts.

    Example:
        >>> evidence_clip(100_000, 400), evidence_clip(1_000_000, 50), evidence_clip(0, 0)
        (0.025, 0.2, 1.0)
    """
    if n_interactions <= 0:
        return 1.0
    by_interactions = math.sqrt(INTERACTIONS_TO_MOVE / n_interactions)
    by_queries = QUERIES_TO_MOVE / n_queries if n_queries > 0 else 0.0
    return min(1.0, max(by_queries, by_interactions))
