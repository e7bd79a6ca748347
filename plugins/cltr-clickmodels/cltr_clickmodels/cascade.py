"""The cascade model."""

from collections.abc import Mapping

import numpy as np

from cltr.clicks.fit_tools import FitOptions
from cltr.clicks.relevance import RelevanceModel
from cltr.types import ClickLog, Floats, Integers
from cltr_clickmodels.chain import ChainModel, Values
from cltr_clickmodels.chainfit import Evidence
from cltr_clickmodels.counts import ChainCounts, count_chain, until_first_click


class Cascade(ChainModel):
    r"""Users read from the top, click the first document that attracts them, and leave.

    .. math:: P(C_r = 1 | C_{<r}) = a_r \text{ if nothing above was clicked, else } 0

    *Fit.* Attraction is the number of clicks divided by the displays without a click above.
    Documents below the first click are ignored. Under this model a second click is impossible, so
    its log-likelihood is very low.

    References: Craswell et al. (WSDM'08).
    """

    name = "cascade"

    class Options(FitOptions):
        """Options of the fit."""

    options: "Cascade.Options"

    @property
    def closed_form(self) -> bool:
        return True

    def after_click(self, documents: Values, shared: Values) -> Floats:
        del shared
        return np.zeros(documents["attraction"].shape)

    def count(self, chunk: ClickLog, offsets: Integers) -> ChainCounts:
        return count_chain(until_first_click(chunk), offsets, tails=False)

    def maximise(
        self,
        evidence: Evidence,
        documents: Values,
        shared: Values,
        by: Mapping[str, RelevanceModel],
    ) -> tuple[Values, Values]:
        del documents
        read = evidence.clicks + evidence.skips
        return {"attraction": by["attraction"].update(evidence.clicks, read)}, shared
