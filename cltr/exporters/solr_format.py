r"""A ranker for Apache Solr's learning to rank: a ``LinearModel`` or a ``NeuralNetworkModel``.

Solr standardises features by itself (``StandardNormalizer``). What it has no function for is
written with its ReLU layers: inputs are cut by :math:`\text{clip}(z, -l, l) = \max(0, z + l) -
\max(0, z - l) - l`, and production's score passes a layer as :math:`\max(0, s) - \max(0, -s)`.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from cltr.documents import Documents
from cltr.errors import UnsupportedError
from cltr.exporters.network import Network
from cltr.exporters.solr_reader import PACKAGE, solr_scores
from cltr.extensions import Exporter, TrainedRanker
from cltr.options import Options
from cltr.types import Floats

PRODUCTION = "production"


class SolrExporter(Exporter):
    """A JSON file for Solr's model store; features are those of your feature store, by name.

    Production's score, where the model adds to it, is the feature ``production``.
    """

    name = "solr"
    suffix = ".solr.json"

    class Options(Options):
        """Of the model in Solr."""

        model: str = Field("cltr", description="name of the model in Solr.")
        store: str = Field(
            "", description=("feature store of the model; Solr's default store if empty.")
        )

    options: "SolrExporter.Options"

    def write(self, ranker: TrainedRanker, path: Path) -> None:
        network = Network.of(ranker, to="Solr")
        center, factor, limit = network.affine(to="Solr")
        names = [*network.names, *([PRODUCTION] if network.adds else [])]
        if len(set(names)) < len(names):
            raise UnsupportedError(
                f"a feature is named '{PRODUCTION}', which stands for "
                "production's score; rename the feature"
            )
        features = [_feature(*one) for one in zip(network.names, center, factor, strict=True)]
        features += [{"name": PRODUCTION}] if network.adds else []
        kind, params = _params(network, factor, limit)
        model = {
            "class": f"{PACKAGE}.model.{kind}",
            "name": self.options.model,
            **({"store": self.options.store} if self.options.store else {}),
            "features": features,
            "params": params,
        }
        path.write_text(json.dumps(model, allow_nan=False) + "\n", encoding="utf-8")

    def scores(self, path: Path, documents: Documents) -> Floats:
        names = [one["name"] for one in json.loads(path.read_text(encoding="utf-8"))["features"]]
        columns = dict(zip(names, np.asarray(documents.features).T, strict=False))
        if len(names) > documents.features.shape[1] and documents.production is not None:
            columns[PRODUCTION] = documents.production
        return solr_scores(path, columns)


def _feature(name: str, center: float, factor: float) -> dict[str, Any]:
    """A feature with its normalizer; one that does not vary has no weight and needs none."""
    if factor == 0 or (center, factor) == (0, 1):
        return {"name": name}
    params = {"avg": repr(float(np.float32(center))), "std": repr(float(np.float32(1 / factor)))}
    return {"name": name, "norm": {"class": f"{PACKAGE}.norm.StandardNormalizer", "params": params}}


def _params(network: Network, factor: Floats, limit: float | None) -> tuple[str, dict[str, Any]]:
    """Class and parameters of the model."""
    layers = [(weights.copy(), bias.copy()) for weights, bias in network.layers]
    layers[0][0][:, factor == 0] = 0.0
    if len(layers) == 1 and limit is None:  # the bias is the same for all documents
        weights = [*layers[0][0][0], *([1.0] if network.adds else [])]
        names = [*network.names, *([PRODUCTION] if network.adds else [])]
        return "LinearModel", {"weights": dict(zip(names, map(float, weights), strict=True))}
    if limit is not None:
        layers = _cut(layers, limit)
    if network.adds:
        layers = _passed(layers)
    last = len(layers) - 1
    plain = [
        {
            "matrix": weights.tolist(),
            "bias": bias.tolist(),
            "activation": "identity" if number == last else "relu",
        }
        for number, (weights, bias) in enumerate(layers)
    ]
    return "NeuralNetworkModel", {"layers": plain}


Layers = list[tuple[Floats, Floats]]


def _cut(layers: Layers, limit: float) -> Layers:
    """A layer before the first one that cuts every input at the limits."""
    weights, bias = layers[0]
    same = np.eye(weights.shape[1])
    ends = np.concatenate([np.full(len(same), limit), np.full(len(same), -limit)])
    joined = np.concatenate([weights, -weights], axis=1)
    return [
        (np.concatenate([same, same]), ends),
        (joined, bias - limit * weights.sum(1)),
        *layers[1:],
    ]


def _passed(layers: Layers) -> Layers:
    """The layers, with one more input that is added to the result."""
    made, width = [], 1
    for number, (weights, bias) in enumerate(layers):
        last = number == len(layers) - 1
        carry = np.ones((1, 1)) if width == 1 else np.array([[1.0, -1.0]])
        rows = carry if last else np.concatenate([carry, -carry])
        if last:
            made.append((np.concatenate([weights, rows], axis=1), bias))
            break
        right = np.concatenate([np.zeros((len(weights), width)), rows])
        left = np.concatenate([weights, np.zeros((2, weights.shape[1]))])
        made.append((np.concatenate([left, right], axis=1), np.append(bias, [0.0, 0.0])))
        width = 2
    return made
