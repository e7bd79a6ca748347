"""The baseline without bias: a click rate for each document."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.clicks.affine_fit import require_features, spread_of, spread_over_documents
from cltr.clicks.fit_tools import Convergence, FitOptions, Parameters, document_queries
from cltr.clicks.relevance import Regression
from cltr.interfaces import Fittable
from cltr.types import Affine, ClickStatistics, Dataset, Floats


class DocumentCTR(Fittable):
    r"""Every document has one click rate at all ranks: a baseline without position bias.

    .. math:: P(C = 1 | d, k) = R_d

    A model of position bias must predict held-out clicks better than this baseline.
    """

    name = "document-ctr"

    class Options(FitOptions):
        """Options of the fit."""

    options: "DocumentCTR.Options"

    def probabilities(self, relevance: Floats, context: Mapping[str, NDArray[Any]]) -> Floats:
        del context
        return np.nan_to_num(relevance)

    def affine(self, top_k: int) -> Affine:
        return Affine(np.ones(top_k), np.zeros(top_k))

    def fit(self, counts: ClickStatistics, dataset: Dataset | None = None) -> Parameters:
        clicks, shown = _by_document(counts)
        spread = spread_over_documents(clicks, shown)
        network = None
        if self.options.relevance == "regression":
            features = require_features(dataset)
            network = Regression(features, prior=spread.mean, hidden=self.options.hidden, steps=300)
        estimate = network or spread.table(self.options.smoothing)
        self.fitted = Parameters(
            shared={},
            documents={"relevance": estimate.update(clicks, shown)},
            unseen={"relevance": spread.mean},
            strength={"relevance": spread.strength},
            convergence=Convergence(np.empty(0), True),
            networks={f"relevance/{k}": w for k, w in network.weights.items()} if network else {},
            query_ids=None if dataset is None else document_queries(dataset),
            document_ids=None if dataset is None else dataset.document_ids,
        )
        return self.fitted

    def infer(self, counts: ClickStatistics, dataset: Dataset | None = None) -> Floats:
        if self.fitted is not None and self.fitted.networks:
            return self.relevance(dataset)
        clicks, shown = _by_document(counts)
        spread = spread_of(self.fitted) if self.fitted else spread_over_documents(clicks, shown)
        return spread.table(self.options.smoothing).update(clicks, shown)


def _by_document(counts: ClickStatistics) -> tuple[Floats, Floats]:
    return counts.clicks.sum(-1).astype(np.float64), counts.impressions.sum(-1).astype(np.float64)
