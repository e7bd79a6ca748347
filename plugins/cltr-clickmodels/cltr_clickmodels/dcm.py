"""The dependent click model."""

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from cltr.clicks.fit_tools import FitOptions
from cltr.clicks.relevance import RelevanceModel
from cltr.types import Floats
from cltr_clickmodels.chain import ChainModel, Values
from cltr_clickmodels.chainfit import Evidence


class DCM(ChainModel):
    r"""Users read from the top. The probability of continuing after a click depends on the rank.

    .. math:: P(E_{r+1} = 1 | E_r = 1, C_r) = \lambda_r^{C_r}

    *Fit by counts* (the usual way): the last click is treated as the end of reading, so
    attraction is clicks over displays down to the last click (all of them if there is none), and
    :math:`\lambda_r` the share of clicks at r that another click followed. *By EM*: the likeliest
    parameters, since some users read on and found nothing.

    References: Guo, Liu and Wang (WSDM'09).
    """

    name = "dcm"
    by_rank = True

    class Options(FitOptions):
        """Probabilities of continuing, and options of the fit."""

        continuation: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
            (0.6,),
            min_length=1,
            description=(
                "probability of continuing after a click, for each rank; the last value holds "
                "for all later ranks."
            ),
        )
        method: Literal["counts", "em"] = Field(
            "counts",
            description=(
                "fit: counts assumes that reading ends at the last click; em "
                "estimates what was read."
            ),
        )

    options: "DCM.Options"

    @property
    def closed_form(self) -> bool:
        return self.options.method == "counts"

    def given(self, top_k: int) -> Values:
        values = self.options.continuation
        places = np.minimum(np.arange(top_k), len(values) - 1)
        return {"continuation": np.array(values)[places]}

    def after_click(self, documents: Values, shared: Values) -> Floats:
        del documents
        return shared["continuation"]

    def maximise(
        self,
        evidence: Evidence,
        documents: Values,
        shared: Values,
        by: Mapping[str, RelevanceModel],
    ) -> tuple[Values, Values]:
        del documents, shared
        read = evidence.clicks + evidence.skips
        clicks = evidence.continued + evidence.stopped
        return (
            {"attraction": by["attraction"].update(evidence.clicks, read)},
            {"continuation": by["continuation"].update(evidence.continued, clicks)},
        )
