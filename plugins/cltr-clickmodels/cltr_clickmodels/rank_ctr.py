"""The baseline without relevance: a click rate for each rank."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cltr.clicks.fit_tools import Convergence, Parameters
from cltr.clicks.relevance import RelevanceTable
from cltr.errors import OptionError, UnsupportedError
from cltr.interfaces import Fittable
from cltr.options import Options
from cltr.types import ClickLog, ClickStatistics, Dataset, Floats


class RankCTR(Fittable):
    r"""Every rank has one click rate for all documents: a baseline without relevance.

    .. math:: P(C = 1 | d, k) = \theta_k

    A model of relevance must predict held-out clicks better than this baseline.
    """

    name = "rank-ctr"

    class Options(Options):
        """Click rates by rank."""

        rates: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
            (0.4, 0.2, 0.15, 0.1, 0.08, 0.06, 0.05, 0.04, 0.04, 0.03),
            description="click probability of each rank.",
        )
        smoothing: float = Field(
            1.0,
            ge=0,
            description=("fit: impressions that the overall click rate counts for at each rank."),
        )

    options: "RankCTR.Options"

    def probabilities(self, relevance: Floats, context: Mapping[str, NDArray[Any]]) -> Floats:
        del context
        return np.where(np.isnan(relevance), 0.0, self.rates(relevance.shape[1]))

    def rates(self, top_k: int) -> Floats:
        """Return the click probability by rank, fitted or given, ``[K]``."""
        rates = self.fitted.shared["rates"] if self.fitted else np.array(self.options.rates)
        if top_k > len(rates):
            raise OptionError(
                f"click model '{self.name}' has values for {len(rates)} ranks, but {top_k} are "
                "needed; give more, or use a smaller --top-k"
            )
        return rates[:top_k]

    def fit(self, counts: ClickStatistics, dataset: Dataset | None = None) -> Parameters:
        del dataset
        clicks, shown = counts.clicks.sum(0), counts.impressions.sum(0)
        overall = float((clicks.sum() + 0.5) / (shown.sum() + 1.0))
        rates = RelevanceTable(self.options.smoothing, overall).update(
            clicks.astype(np.float64), shown.astype(np.float64)
        )
        done = Convergence(np.empty(0), True)
        self.fitted = Parameters({"rates": rates}, {}, {}, {}, done)
        return self.fitted

    def document_relevance(self, tables: Mapping[str, Floats]) -> Floats:
        del tables
        raise UnsupportedError(
            f"click model '{self.name}' knows no relevance; use pbm or trust-bias"
        )

    def predict(self, chunk: ClickLog) -> Floats:
        return np.where(chunk.documents < 0, 0.0, self.rates(chunk.top_k))

    def predict_given_clicks(self, chunk: ClickLog) -> Floats:
        return self.predict(chunk)
