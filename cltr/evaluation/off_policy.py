r"""What a policy is worth by clicks alone: its value under a reward, with a standard error.

.. math:: \hat U(\pi) = \sum_q \tfrac{N_q}{N} \sum_d \omega(d|q,\pi)\, \mu_d

The reward's clicks must be others than those that the policy was trained on.
"""

from typing import Any, NamedTuple

import numpy as np

from cltr.errors import DataError
from cltr.policies.on_dataset import Mixture
from cltr.types import Floats, Lists, Rewards


class ValueEstimate(NamedTuple):
    """A mean over interactions and its standard error, clustered by query."""

    value: float
    error: float

    def plain(self) -> dict[str, Any]:
        """For JSON; an error that cannot be told (a single query) is None."""
        return {
            "value": self.value,
            "standard_error": self.error if np.isfinite(self.error) else None,
        }


def estimate_value(
    weights: Floats, rewards: Floats, lists: Lists, query_weights: Floats
) -> ValueEstimate:
    r"""The value of expected weights under rewards.

    Interactions of a query share its documents, so they are not independent; queries are. With
    shares :math:`p_q = N_q/N` and values :math:`v_q`, the mean is :math:`v = \sum_q p_q v_q` and
    its variance :math:`\frac{Q}{Q-1} \sum_q p_q^2 (v_q - v)^2` (a ratio estimator, linearised).

    Args:
        weights: :math:`\omega`, ``[docs]``; the difference of two policies' gives that of values.
        rewards: :math:`\mu`, ``[docs]``.
        lists: where each query's documents lie.
        query_weights: :math:`N_q/N`, ``[queries]``.

    Example:
        >>> lists = Lists.of_offsets(np.array([0, 1, 2]))
        >>> found = estimate_value(np.ones(2), np.array([0.0, 1.0]), lists, np.array([0.5, 0.5]))
        >>> found.value, found.error
        (0.5, 0.5)
    """
    values = lists.sum(weights * rewards)
    mean = float(query_weights @ values)
    logged = int(np.count_nonzero(query_weights))
    if logged < 2:
        return ValueEstimate(mean, float("nan"))
    spread = float((query_weights**2) @ (values - mean) ** 2)
    return ValueEstimate(mean, float(np.sqrt(spread * logged / (logged - 1))))


def off_policy_values(served: Mixture, rewards: Rewards, rank_weights: Floats) -> dict[str, Any]:
    """Values of production and of what is served, by validation clicks; no labels are needed.

    Args:
        served: on the validation queries.
        rewards: of the validation clicks, without any clipping of propensities.
        rank_weights: of the metric.
    """
    if served.production is None or rewards.statistics is None:
        raise DataError("off-policy values need clicks, and a production ranker that is known")
    logging, new = served.production.weights(rank_weights), served.weights(rank_weights)

    def value(weights: Floats) -> dict[str, Any]:
        lists = served.dataset.lists
        return estimate_value(weights, rewards.values, lists, rewards.query_weights).plain()

    return {
        "split": "valid",
        "reward": rewards.source,
        "n_interactions": rewards.statistics.n_interactions,
        "production": value(logging),
        "policy": value(new),
        "difference": value(new - logging),
    }
