"""The click chain model."""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import Field

from cltr.clicks.fit_tools import FitOptions
from cltr.clicks.relevance import RelevanceModel
from cltr.types import Floats
from cltr_clickmodels.chain import ChainModel, Values
from cltr_clickmodels.chainfit import Evidence

Probability = Annotated[float, Field(ge=0, le=1)]
SKIP, IRRELEVANT, RELEVANT = range(3)


class CCM(ChainModel):
    r"""Users read from the top. Whether they continue depends on what they found.

    .. math:: P(E_{r+1}=1 | E_r=1, C_r=0) = \tau_1, \qquad
              P(E_{r+1}=1 | C_r=1) = \tau_2 (1 - a_d) + \tau_3 a_d

    where attraction :math:`a` is relevance: a clicked document is relevant with the same
    probability with which it was clicked.

    *Fit.* EM; each click counts twice for attraction, once as a click and once, in part, by
    whether the document turned out relevant.

    References: Guo et al. (WWW'09).
    """

    name = "ccm"

    class Options(FitOptions):
        """Probabilities of continuing, and options of the fit."""

        continuation: tuple[Probability, Probability, Probability] = Field(
            (0.9, 0.8, 0.4),
            description="tau: probabilities of continuing after a skip, after a click on something "
            "irrelevant, and after one on something relevant.",
        )

    options: "CCM.Options"

    def given(self, top_k: int) -> Values:
        del top_k
        return {"continuation": np.array(self.options.continuation)}

    def after_skip(self, shared: Values) -> float:
        return float(shared["continuation"][SKIP])

    def after_click(self, documents: Values, shared: Values) -> Floats:
        attraction, going = documents["attraction"], shared["continuation"]
        stay: Floats = going[IRRELEVANT] * (1.0 - attraction) + going[RELEVANT] * attraction
        return stay

    def maximise(
        self,
        evidence: Evidence,
        documents: Values,
        shared: Values,
        by: Mapping[str, RelevanceModel],
    ) -> tuple[Values, Values]:
        attraction, going = documents["attraction"], shared["continuation"]
        pleased_on = evidence.continued * _share(attraction, going[RELEVANT], going[IRRELEVANT])
        pleased_off = evidence.stopped * _share(
            attraction, 1.0 - going[RELEVANT], 1.0 - going[IRRELEVANT]
        )
        pleased = pleased_on + pleased_off
        clicks = evidence.continued + evidence.stopped
        found = by["attraction"].update(
            evidence.clicks + pleased, evidence.clicks + evidence.skips + clicks
        )
        went_on = np.array(
            [
                evidence.skip_continued,
                (evidence.continued - pleased_on).sum(),
                pleased_on.sum(),
            ]
        )
        chances = np.array(
            [
                evidence.skip_continued + evidence.skip_stopped,
                (clicks - pleased).sum(),
                pleased.sum(),
            ]
        )
        return {"attraction": found}, {"continuation": by["continuation"].update(went_on, chances)}


def _share(attraction: Floats, relevant: float, irrelevant: float) -> Floats:
    """P(relevant | what the user did next), ``[docs]``."""
    total = attraction * relevant + (1.0 - attraction) * irrelevant
    return np.divide(attraction * relevant, total, out=np.zeros(len(total)), where=total > 0)
