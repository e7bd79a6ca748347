"""The dynamic Bayesian network."""

from collections.abc import Mapping

import numpy as np
from pydantic import Field

from cltr.clicks.fit_tools import FitOptions
from cltr.clicks.relevance import RelevanceModel
from cltr.types import Floats
from cltr_clickmodels.chain import ChainModel, Values
from cltr_clickmodels.chainfit import Evidence


class DBN(ChainModel):
    r"""Users read from the top until a click satisfies them or they give up.

    .. math:: P(E_{r+1} = 1 | E_r = 1, C_r) = \gamma\,(1 - \sigma_d)^{C_r}

    A document attracts clicks (:math:`a`) and satisfies those who clicked (:math:`\sigma`); its
    relevance is :math:`a\sigma`. Simulated users split relevance evenly,
    :math:`a = \sigma = \sqrt{R}`.

    *Fit.* EM with the exact posterior: given the clicks above, not without them. A user who left
    after a click was satisfied with probability
    :math:`\sigma / (\sigma + (1 - \sigma)(1 - \gamma))`.

    References: Chapelle and Zhang (WWW'09).
    """

    name = "dbn"
    tables = ("attraction", "satisfaction")

    class Options(FitOptions):
        """Probability of continuing, and options of the fit."""

        continuation: float = Field(
            0.9, gt=0, le=1, description="gamma: probability of continuing while not satisfied."
        )

    options: "DBN.Options"

    def given(self, top_k: int) -> Values:
        del top_k
        return {"continuation": np.array([self.options.continuation])}

    def simulated(self, relevance: Floats) -> Values:
        return {"attraction": np.sqrt(relevance), "satisfaction": np.sqrt(relevance)}

    def document_relevance(self, tables: Mapping[str, Floats]) -> Floats:
        return tables["attraction"] * tables["satisfaction"]

    def after_skip(self, shared: Values) -> float:
        return float(shared["continuation"][0])

    def after_click(self, documents: Values, shared: Values) -> Floats:
        return shared["continuation"] * (1.0 - documents["satisfaction"])

    def maximise(
        self,
        evidence: Evidence,
        documents: Values,
        shared: Values,
        by: Mapping[str, RelevanceModel],
    ) -> tuple[Values, Values]:
        satisfied = evidence.stopped * satisfied_share(documents["satisfaction"], shared)
        read = evidence.clicks + evidence.skips
        clicks = evidence.continued + evidence.stopped
        went_on = evidence.continued.sum() + evidence.skip_continued
        gave_up = (evidence.stopped - satisfied).sum() + evidence.skip_stopped
        found = {
            "attraction": by["attraction"].update(evidence.clicks, read),
            "satisfaction": by["satisfaction"].update(satisfied, clicks),
        }
        patience = by["continuation"].update(np.array([went_on]), np.array([went_on + gave_up]))
        return found, {"continuation": patience}


def satisfied_share(satisfaction: Floats, shared: Values) -> Floats:
    """Return the share of satisfied users among those who left after a click, ``[docs]``."""
    left = satisfaction + (1.0 - satisfaction) * (1.0 - shared["continuation"])
    return np.divide(satisfaction, left, out=np.zeros(len(left)), where=left > 0)
