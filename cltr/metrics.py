"""[7] Ranking metrics: weights by rank, and values under a policy's expected weights."""

import numpy as np

from cltr.errors import UnknownNameError
from cltr.interfaces import ClickModel
from cltr.options import did_you_mean
from cltr.types import Floats, Lists

METRICS = ("dcg", "clicks", "precision", "reciprocal-rank")


def rank_weights(metric: str, top_k: int, click_model: ClickModel | None = None) -> Floats:
    r"""Weight of each rank, ``[K]``.

    ``dcg``: :math:`1/\log_2(k+1)`; ``clicks``: the click model's :math:`\alpha_k + \beta_k`, so
    that utility counts clicks on relevant documents (the paper's choice); ``precision``: 1/K;
    ``reciprocal-rank``: 1/k.

    Example:
        >>> rank_weights("dcg", 3).round(3).tolist()
        [1.0, 0.631, 0.5]
    """
    ranks = np.arange(1, top_k + 1)
    if metric == "dcg":
        return np.asarray(1.0 / np.log2(ranks + 1.0))
    if metric == "clicks" and click_model is not None:
        examination, trust = click_model.affine(top_k)
        return examination + trust
    if metric == "precision":
        return np.full(top_k, 1.0 / top_k)
    if metric == "reciprocal-rank":
        return 1.0 / ranks
    hint = did_you_mean(metric, METRICS)
    raise UnknownNameError(f"no metric named '{metric}'; there are: {', '.join(METRICS)}{hint}")


def sum_lists(values: Floats, lists: Lists) -> Floats:
    """Sum of each list, ``[queries]``; lists lie end to end.

    Example:
        >>> sum_lists(np.array([1.0, 2.0, 3.0]), Lists.of_offsets(np.array([0, 2, 2, 3])))
        array([3., 0., 3.])
    """
    sums = np.bincount(lists.owners, values, minlength=len(lists.lengths))
    return sums.astype(np.float64, copy=False)  # integers where there is no document at all


def ideal_weights(labels: Floats, lists: Lists, weights: Floats) -> Floats:
    """The weight each document has in the ideal ranking by falling label, ``[docs]``."""
    from cltr.policies import Deterministic

    return Deterministic().expected_weights(labels, lists, weights)


def expected_ndcg(weights: Floats, gains: Floats, lists: Lists, *, top_k: int) -> Floats:
    r"""Expected NDCG@k of every query under a policy, ``[queries]``; 0 without a gain.

    Args:
        weights: :math:`\omega` for ``dcg`` weights cut at ``top_k``, ``[docs]``.
        gains: of the documents' grades, ``[docs]``; the grades themselves in the paper.
        lists: where each query's documents lie.
        top_k: the cut.
    """
    ideal = sum_lists(gains * ideal_weights(gains, lists, rank_weights("dcg", top_k)), lists)
    reached = sum_lists(gains * weights, lists)
    return np.divide(reached, ideal, out=np.zeros(len(ideal)), where=ideal > 0)
