"""The cascade model."""

import numpy as np

from cltr.types import Floats
from cltr_clickmodels.chain import ChainModel


class Cascade(ChainModel):
    r"""Users read from the top, click the first document that attracts them, and leave.

    .. math:: P(C_r = 1 | C_{<r}) = a_r \text{ if nothing above was clicked, else } 0

    References: Craswell et al. (WSDM'08).
    """

    name = "cascade"

    def after_click(self, relevance: Floats) -> Floats:
        return np.zeros(relevance.shape)
