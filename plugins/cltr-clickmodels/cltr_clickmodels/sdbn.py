"""The simplified dynamic Bayesian network."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from pydantic import Field

from cltr.clicks.fit_tools import FitOptions
from cltr.clicks.relevance import RelevanceModel
from cltr.types import Floats
from cltr_clickmodels.chain import ChainModel, Values
from cltr_clickmodels.chainfit import Evidence


class SDBN(ChainModel):
    r"""Users read from the top until a click satisfies them; nobody leaves unsatisfied.

    .. math:: P(E_{r+1} = 1 | E_r = 1, C_r) = (1 - \sigma_d)^{C_r}

    A document attracts clicks (:math:`a`) and satisfies those who clicked (:math:`\sigma`); its
    relevance is :math:`a\sigma`. Simulated users split relevance evenly,
    :math:`a = \sigma = \sqrt{R}`.

    *Fit by counts* (the usual way): the last click is treated as the satisfying one. *By EM*: the
    most likely parameters, because some users read on and found nothing.

    References: Chapelle and Zhang (WWW'09), the simplified model.
    """

    name = "sdbn"
    tables = ("attraction", "satisfaction")

    class Options(FitOptions):
        """Options of the fit."""

        method: Literal["counts", "em"] = Field(
            "counts",
            description=(
                "fit: counts assumes that the last click satisfied the user; em "
                "estimates what was read."
            ),
        )

    options: "SDBN.Options"

    @property
    def closed_form(self) -> bool:
        return self.options.method == "counts"

    def simulated(self, relevance: Floats) -> Values:
        return {"attraction": np.sqrt(relevance), "satisfaction": np.sqrt(relevance)}

    def document_relevance(self, tables: Mapping[str, Floats]) -> Floats:
        return tables["attraction"] * tables["satisfaction"]

    def after_click(self, documents: Values, shared: Values) -> Floats:
        del shared
        return 1.0 - documents["satisfaction"]

    def maximise(
        self,
        evidence: Evidence,
        documents: Values,
        shared: Values,
        by: Mapping[str, RelevanceModel],
    ) -> tuple[Values, Values]:
        del documents
        read = evidence.clicks + evidence.skips
        clicks = evidence.continued + evidence.stopped
        found = {
            "attraction": by["attraction"].update(evidence.clicks, read),
            "satisfaction": by["satisfaction"].update(evidence.stopped, clicks),
        }
        return found, shared
