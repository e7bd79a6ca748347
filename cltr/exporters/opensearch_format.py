"""A linear ranker for the learning-to-rank plugin of OpenSearch."""

import json
from pathlib import Path

import numpy as np
from pydantic import Field

from cltr.documents import Documents
from cltr.errors import UnsupportedError
from cltr.exporters.network import Network
from cltr.exporters.opensearch_reader import opensearch_scores
from cltr.extensions import Exporter, TrainedRanker
from cltr.options import Options
from cltr.types import Floats

PRODUCTION = "production"


class OpenSearchExporter(Exporter):
    """The body of ``_createmodel`` for a linear ranker; neural networks are not supported.

    Standardisation is folded into the weights: what is left is the same for all documents.
    Production's score, where the model adds to it, is the feature ``production``.
    """

    name = "opensearch"
    suffix = ".opensearch.json"

    class Options(Options):
        """Of the model in OpenSearch."""

        model: str = Field("cltr", description="name of the model in OpenSearch.")

    options: "OpenSearchExporter.Options"

    def write(self, ranker: TrainedRanker, path: Path) -> None:
        network = Network.of(ranker, to="OpenSearch")
        if len(network.layers) > 1:
            raise UnsupportedError(
                "OpenSearch's plugin takes linear models and trees, but no neural networks; "
                "export to onnx, or train with --scorer linear"
            )
        _, factor, limit = network.affine(to="OpenSearch")
        if limit is not None:
            raise UnsupportedError(
                f"OpenSearch cannot clip inputs, and the model clips them at {limit:g} deviations; "
                "train on data with --normalize z-score, which the model takes as they are"
            )
        weights = dict(zip(network.names, (network.layers[0][0][0] * factor).tolist(), strict=True))
        if network.adds:
            if PRODUCTION in weights:
                raise UnsupportedError(
                    f"a feature is named '{PRODUCTION}', which stands for "
                    "production's score; rename the feature"
                )
            weights[PRODUCTION] = 1.0
        model = {"type": "model/linear", "definition": json.dumps(weights, allow_nan=False)}
        body = {"model": {"name": self.options.model, "model": model}}
        path.write_text(json.dumps(body) + "\n", encoding="utf-8")

    def scores(self, path: Path, documents: Documents) -> Floats:
        body = json.loads(path.read_text(encoding="utf-8"))
        names = list(json.loads(body["model"]["model"]["definition"]))
        columns = dict(zip(names, np.asarray(documents.features).T, strict=False))
        if len(names) > documents.features.shape[1] and documents.production is not None:
            columns[PRODUCTION] = documents.production
        return opensearch_scores(path, columns)
