r"""Users who read down the list: what cascade, DCM, SDBN, DBN and CCM share.

A user examines the first document. On an examined document she clicks with its attraction
:math:`a`; then she goes on with probability :math:`t` after a click and :math:`g` after none.
Given the clicks above, :math:`e_r = P(E_r = 1 | C_{<r})` follows from rank to rank:

.. math:: e_1 = 1, \qquad e_{r+1} = t_r \text{ after a click}, \qquad
          e_{r+1} = \frac{g\, e_r (1 - a_r)}{1 - e_r a_r} \text{ after none}

and :math:`P(C_r = 1 | C_{<r}) = e_r a_r`. Not knowing the clicks,
:math:`e_{r+1} = e_r\,(a_r t_r + (1 - a_r) g)`.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.interfaces import ClickModel
from cltr.types import Booleans, Floats


class ChainModel(ClickModel):
    """Base of models in which examination goes down the list."""

    @abstractmethod
    def after_click(self, relevance: Floats) -> Floats:
        """Probability t of going on after a click, ``[interactions, K]``."""

    def after_skip(self) -> float:
        """Probability g of going on after no click."""
        return 1.0

    def probabilities(self, relevance: Floats, context: Mapping[str, NDArray[Any]]) -> Floats:
        del context
        attraction = np.nan_to_num(relevance)
        stay = attraction * self.after_click(attraction) + (1 - attraction) * self.after_skip()
        first = np.ones((len(relevance), 1))
        examined = np.concatenate([first, np.cumprod(stay[:, :-1], axis=1)], axis=1)
        return examined * attraction

    def sample(
        self, relevance: Floats, context: Mapping[str, NDArray[Any]], rng: np.random.Generator
    ) -> Booleans:
        del context
        attraction = np.nan_to_num(relevance)
        attracted = rng.random(attraction.shape) < attraction
        stay = np.where(attracted, self.after_click(attraction), self.after_skip())
        going = np.cumprod(rng.random(stay.shape) < stay, axis=1).astype(bool)
        examined = np.concatenate([np.ones((len(going), 1), bool), going[:, :-1]], axis=1)
        return examined & attracted
