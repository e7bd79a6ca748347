"""What exploring would cost production, and what it would tell."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cltr.checks.evidence import Evidence
from cltr.checks.rank_swaps import rank_swaps
from cltr.looks import POINT
from cltr.policies import PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.policies.worst_losses import ndcg_losses
from cltr.types import Floats

EXPLORED = 0.1
"""Share of requests that explore, in what is said: the loss is this share of the whole."""


@dataclass(frozen=True)
class Exploration:
    """A way to explore, its certified loss, and what a log of the same size would then tell."""

    name: str
    what: str
    top_k: int
    loss: float
    """The most that NDCG can fall if all requests explore, mean over queries by traffic."""
    largest_loss: float
    """The same of the query that can lose most."""
    error: float
    """Expected standard error of log examination after a log of this size: the median rank's."""

    def told(self) -> str:
        """In words."""
        then = (
            f"; a log of this size would then know position bias within about ±{self.error:.0%} "
            "(median rank)"
            if np.isfinite(self.error)
            else ""
        )
        return (
            f"{self.what} in {EXPLORED:.0%} of the requests costs at most "
            f"{100 * EXPLORED * self.loss:.2f} points of NDCG@{self.top_k} ({POINT}){then}."
        )

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return dict(vars(self))


def swap_matrix(top_k: int) -> Floats:
    """Where a document goes when neighbours are swapped at random, ``[K, K]``; rows are ranks.

    Pairs of neighbours start at the first or the second rank with equal chance, and each pair is
    swapped with chance 1/2 (FairPairs, Radlinski and Joachims 2006).

    Example:
        >>> swap_matrix(3)
        array([[0.75, 0.25, 0.  ],
               [0.25, 0.5 , 0.25],
               [0.  , 0.25, 0.75]])
    """
    move = np.zeros((top_k, top_k))
    for first in range(top_k - 1):
        move[first, first + 1] = move[first + 1, first] = 0.25
    return move + np.diag(1 - move.sum(-1))


def explore_by_swapping(evidence: Evidence) -> Exploration:
    """Swap neighbours at random."""
    chances = evidence.rank_distribution[0]
    explored = chances @ swap_matrix(evidence.whole.top_k)
    return _cost(evidence, "swap-neighbours", "swapping neighbours at random", explored)


def explore_by_sampling(evidence: Evidence, scores: Floats) -> Exploration:
    """Draw rankings from production's scores, by Plackett-Luce."""
    rows = scores[: int(evidence.whole.offsets[-1])]
    explored = PlackettLuce().rank_distribution(rows, evidence.lists, evidence.whole.top_k)
    return _cost(evidence, "sample-scores", "drawing rankings from production's scores", explored)


def _cost(evidence: Evidence, name: str, what: str, explored: Floats) -> Exploration:
    statistics, lists = evidence.whole, evidence.lists
    chances = evidence.rank_distribution[0]
    weights = rank_weights("dcg", statistics.top_k)
    losses = ndcg_losses(explored @ weights, chances @ weights, lists, weights)
    came = statistics.displays > 0
    return Exploration(
        name,
        what,
        statistics.top_k,
        loss=float(statistics.query_weights @ losses),
        largest_loss=float(losses[came].max(initial=0.0)),
        error=_expected_error(evidence, (1 - EXPLORED) * chances + EXPLORED * explored),
    )


def _expected_error(evidence: Evidence, chances: Floats) -> float:
    """Median standard error of log examination after a log of the same size with these chances."""
    statistics = evidence.whole
    examination = evidence.examination
    if len(examination) < statistics.top_k:
        examination = 1.0 / np.arange(1, statistics.top_k + 1)
    examined = statistics.impressions @ examination
    clicks = statistics.clicks.sum(-1)
    relevance = np.divide(clicks, examined, out=np.zeros(len(clicks)), where=examined > 0)
    shown = chances * statistics.displays_per_document[:, None]
    expected: dict[str, Any] = {"clicks": shown * examination * relevance[:, None]}
    expected["impressions"] = shown  # fractions: counts as they are expected
    errors = rank_swaps(replace(statistics, **expected)).errors[1:]
    return float(np.median(errors)) if len(errors) else float("inf")
