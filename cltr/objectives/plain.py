"""The plain sum of expected weight times reward."""

from typing import Any

import numpy as np

from cltr.interfaces import Estimator
from cltr.types import Floats


class Plain(Estimator):
    r"""The estimated metric itself: nothing limits how far rankings move.

    .. math:: \hat U = \sum_q \tfrac{N_q}{N} \sum_d \omega_d \mu_d

    Unbiased where the reward is, and free to leave the logging policy as far as noise may lead it.
    """

    name = "plain"

    def gain(self, weights: Any, logging_weights: Any, rewards: Any) -> Any:
        del logging_weights
        return weights * rewards

    def slope(self, weights: Floats, logging_weights: Floats, rewards: Floats) -> Floats:
        del logging_weights
        return rewards + 0.0 * weights

    def kinks(self, logging_weights: Floats, rewards: Floats) -> Floats:
        del logging_weights
        return np.empty((len(rewards), 0))
