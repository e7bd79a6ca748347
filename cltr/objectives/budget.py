r"""The best policy whose worst-case loss of NDCG stays within a budget, query by query."""

import numpy as np
from pydantic import Field

from cltr.errors import UnsupportedError
from cltr.interfaces import Enforced, EstimatorContext, PerQuery, QueryTask, RewardFunction
from cltr.objectives.evidence_clip import NARROW
from cltr.objectives.plain import Plain
from cltr.options import Options, ShareOption
from cltr.policies.budget import spend_budget
from cltr.policies.rank_weights import rank_weights
from cltr.policies.worst_losses import ndcg_losses
from cltr.types import Floats, Lists

MARGIN = 1e-7
"""Points of NDCG, as a share, that are not spent: production's weights are less exact than sums."""
RANKS = 5
"""Ranks that losses are measured on until a run says how many it has."""


class Budget(Plain, Enforced, PerQuery):
    r"""The best policies whose NDCG falls by at most the budget, whatever users find relevant.

    .. math:: \max_\omega \sum_q P(q) \sum_d \mu_d \omega_d \quad \text{such that} \quad
              \sum_q P(q) L_q(\omega) \le B, \quad L_q(\omega) \le b

    with :math:`L_q` the most that the NDCG of a query can fall below production's. Every training
    query gets a policy of its own: rankings with shares. A query that was not logged has no
    rewards; it gets those that documents at their rank by the trained model had on validation
    clicks, and keeps :math:`L_q \le B` alone. The model itself is trained as with ``plain``.

    Where only the model can be served, it is mixed with production so that :math:`L_q \le B`.
    """

    name = "budget"

    class Options(Options):
        """How much may be lost."""

        loss: ShareOption = Field(
            0.02,
            description="the most that mean NDCG may fall below production's, whatever users find "
            "relevant: 0.02 or 2% for two NDCG points (1 point = 0.01). Larger gains more.",
        )
        loss_per_query: ShareOption = Field(
            1.0, description="the most that the NDCG of a single query may fall; 0.1 or 10%."
        )

    options: "Budget.Options"

    def __init__(self, reward: RewardFunction | None = None, **options: object) -> None:
        super().__init__(reward, **options)
        self.loss, self.loss_per_query = self.options.loss, self.options.loss_per_query
        self._rank_weights = rank_weights("dcg", RANKS)

    def objection(self, metric: str) -> str | None:
        if metric == "dcg":
            return None
        return (
            f"estimator '{self.name}' bounds the loss of NDCG, so it is trained with the metric "
            f"dcg, not '{metric}'; leave out --metric"
        )

    def prepare(self, context: EstimatorContext) -> None:
        """In doubt no query may lose more than in a narrow band."""
        objection = self.objection(context.metric)
        if objection is not None:
            raise UnsupportedError(objection)
        self._rank_weights = context.rank_weights
        most = 1 - NARROW if context.narrow else 1.0
        self.loss = min(self.options.loss, most)
        self.loss_per_query = min(self.options.loss_per_query, most)

    def query_weights(self, task: QueryTask) -> Floats:
        return spend_budget(
            task.rewards,
            task.logging_weights,
            task.lists,
            task.rank_weights,
            budget=1.0 if task.each else max(self.loss - MARGIN, 0.0),
            traffic=None if task.each else task.traffic,
            per_query=max(self._limit(each=task.each) - MARGIN, 0.0),
        ).weights

    def _limit(self, *, each: bool) -> float:
        """The most that the NDCG of a single query may fall."""
        return min(self.loss, self.loss_per_query) if each else self.loss_per_query

    def kept(self, weights: Floats, task: QueryTask) -> bool:
        losses = ndcg_losses(weights, task.logging_weights, task.lists, task.rank_weights)
        mean = 0.0 if task.each else float((task.traffic * losses).sum())
        return bool(losses.max(initial=0.0) <= self._limit(each=task.each) and mean <= self.loss)

    def served_share(self, weights: Floats, logging_weights: Floats, lists: Lists) -> Floats:
        losses = ndcg_losses(weights, logging_weights, lists, self._rank_weights)
        limit = max(self._limit(each=True) - MARGIN, 0.0)
        share: Floats = np.divide(limit, losses, out=np.ones(len(losses)), where=losses > limit)
        return share
