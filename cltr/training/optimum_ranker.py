"""The optimum: a policy of its own for every logged query, exact gradients for all others."""

from cltr.interfaces import Estimator, Penalised, PerQuery, QueryTask
from cltr.policies.optimum import PiecewiseGain, best_weights
from cltr.training.exact_ranker import Exact
from cltr.types import Floats


class Optimum(Exact, PerQuery):
    r"""The best policy of every logged query, computed without gradients.

    The gain is separable and concave in :math:`\omega`, and piecewise linear, so its maximum over
    all policies of a query is computed exactly (``cltr.policies.optimum``). No other ranker can
    reach more on the training queries. The policies are stored as rankings with shares. Queries
    that were not logged are ranked by the model, which is trained as with ``exact``.
    """

    name = "optimum"

    def objection(self, estimator: Estimator) -> str | None:
        name = f"ranker '{self.name}'"
        if isinstance(estimator, Penalised):
            return (
                f"{name} finds the best policy of one query after the other, but the penalty of "
                f"the estimator '{estimator.name}' depends on all queries together; use --ranker "
                "exact, or another estimator"
            )
        if type(estimator).kinks is Estimator.kinks:
            return (
                f"{name} needs a gain that is linear between kinks, and the estimator "
                f"'{estimator.name}' does not say where its kinks are; use --ranker exact"
            )
        return None

    def query_weights(self, task: QueryTask) -> Floats:
        gain = PiecewiseGain.of(task.estimator, task.logging_weights, task.rewards)
        return best_weights(gain, task.lists, task.rank_weights)
