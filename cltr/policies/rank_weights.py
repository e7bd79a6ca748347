"""Ranking metrics: weights by rank, and values under a policy's expected weights."""

import numpy as np

from cltr.errors import UnknownNameError
from cltr.interfaces import ClickModel
from cltr.options import did_you_mean
from cltr.types import Floats

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
        examination, trust = click_model.require_affine(top_k)
        return examination + trust
    if metric == "precision":
        return np.full(top_k, 1.0 / top_k)
    if metric == "reciprocal-rank":
        return 1.0 / ranks
    hint = did_you_mean(metric, METRICS)
    raise UnknownNameError(f"no metric named '{metric}'; there are: {', '.join(METRICS)}{hint}")
