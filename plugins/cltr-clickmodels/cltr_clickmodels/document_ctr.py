"""The baseline without bias: a click rate for each document."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.fitting import Convergence, FitOptions, Parameters, document_queries
from cltr.interfaces import ClickModel
from cltr.relevance import Regression, Table
from cltr.types import Affine, ClickStatistics, Dataset, Floats


class DocumentCTR(ClickModel):
    r"""Every document has a click rate, wherever it stands: no bias at all.

    .. math:: P(C = 1 | d, k) = R_d

    The baseline that a model of bias must beat on held-out clicks.
    """

    name = "document-ctr"

    class Options(FitOptions):
        """How it is fitted."""

    options: "DocumentCTR.Options"

    def probabilities(self, relevance: Floats, context: Mapping[str, NDArray[Any]]) -> Floats:
        del context
        return np.nan_to_num(relevance)

    def affine(self, top_k: int) -> Affine:
        return Affine(np.ones(top_k), np.zeros(top_k))

    def fit(self, counts: ClickStatistics, dataset: Dataset | None = None) -> Parameters:
        clicks, shown = _by_document(counts)
        prior = float((clicks.sum() + 0.5) / (shown.sum() + 1.0))
        network = None
        if self.options.relevance == "regression":
            from cltr.affinefit import require_features

            features = require_features(dataset)
            network = Regression(features, prior=prior, hidden=self.options.hidden, steps=200)
        estimate = network or Table(self.options.smoothing, prior)
        self.fitted = Parameters(
            shared={},
            documents={"relevance": estimate.update(clicks, shown)},
            unseen={"relevance": prior},
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
        unseen = self.fitted.unseen if self.fitted else {}
        prior = unseen.get("relevance") or float((clicks.sum() + 0.5) / (shown.sum() + 1.0))
        return Table(self.options.smoothing, prior).update(clicks, shown)


def _by_document(counts: ClickStatistics) -> tuple[Floats, Floats]:
    return counts.clicks.sum(-1).astype(np.float64), counts.impressions.sum(-1).astype(np.float64)
