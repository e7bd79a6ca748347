"""The two rewards that need no correction: clicks as they are, and the truth."""

from cltr.interfaces import RewardFunction
from cltr.types import ClickData, Floats


class Naive(RewardFunction):
    r"""Clicks as they are, with no correction.

    :math:`\mu_d = \text{ctr}_d`, clicks per display of the query: biased by position and trust.
    """

    name = "naive"
    assumes = frozenset()

    def mu(self, data: ClickData, *, propensity_clip: float = 0.0) -> Floats:
        del propensity_clip
        return data.statistics.click_rate


class Labels(RewardFunction):
    r"""The true relevance, from judgements; the reference ranker is trained on it.

    :math:`\mu_d = P(R=1)`.
    """

    name = "labels"
    assumes = frozenset({"judgements"})

    def mu(self, data: ClickData, *, propensity_clip: float = 0.0) -> Floats:
        del propensity_clip
        return data.dataset.relevance
