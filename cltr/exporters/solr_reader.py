"""What Apache Solr computes from a model file, step by step in 32 bits.

Written from the source of apache/solr, folder ``solr/modules/ltr/src/java/org/apache/solr/ltr``:
``model/NeuralNetworkModel.java`` (commit 41f2a08), ``model/LinearModel.java`` (19c29c5) and
``norm/StandardNormalizer.java`` (9f5b2c7). It knows nothing of how cltr writes such files.

Solr reads every number as a Java float and adds up products one by one, from the bias on.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError
from cltr.types import Floats

Values = NDArray[np.float32]
PACKAGE = "org.apache.solr.ltr"


def solr_scores(path: Path, features: dict[str, Floats]) -> Floats:
    """Scores by a Solr model of documents with these feature values, ``[docs]``.

    Args:
        path: what would be uploaded to the model store.
        features: values by name, ``[docs]`` each.
    """
    model = json.loads(path.read_text(encoding="utf-8"))
    columns = []
    for feature in model["features"]:
        if feature["name"] not in features:
            raise DataError(f"{path}: feature '{feature['name']}' is not known")
        value = np.asarray(features[feature["name"]], np.float32)
        columns.append(_normalized(value, feature.get("norm"), path))
    vectors = np.column_stack(columns)
    kind = model["class"].removeprefix(f"{PACKAGE}.model.")
    with np.errstate(over="ignore"):
        if kind == "LinearModel":
            weights = model["params"]["weights"]
            row = [[weights[feature["name"]] for feature in model["features"]]]
            return _products(vectors, row, [0.0])[:, 0].astype(np.float64)
        if kind != "NeuralNetworkModel":
            raise DataError(f"{path}: no class of Solr that is known here: {model['class']}")
        for layer in model["params"]["layers"]:
            sums = _products(vectors, layer["matrix"], layer["bias"])
            vectors = _activated(sums, layer["activation"], path)
    if vectors.shape[1] != 1:
        raise DataError(f"{path}: the last layer must have one row, not {vectors.shape[1]}")
    return vectors[:, 0].astype(np.float64)


def _normalized(value: Values, norm: dict[str, Any] | None, path: Path) -> Values:
    if norm is None or norm["class"] == f"{PACKAGE}.norm.IdentityNormalizer":
        return value
    if norm["class"] != f"{PACKAGE}.norm.StandardNormalizer":
        raise DataError(f"{path}: no normalizer that is known here: {norm['class']}")
    average, deviation = (np.float32(norm["params"][key]) for key in ("avg", "std"))
    if not deviation > 0:
        raise DataError(f"{path}: the deviation of a normalizer must be positive")
    return np.asarray((value - average) / deviation)


def _products(vectors: Values, matrix: list[list[float]], bias: list[float]) -> Values:
    weights, start = np.array(matrix, np.float32), np.array(bias, np.float32)
    if weights.shape != (len(start), vectors.shape[1]):
        raise DataError("a matrix of the model does not fit its bias or its input")
    sums = np.repeat(start[None], len(vectors), axis=0)
    for column in range(vectors.shape[1]):
        sums += weights[None, :, column] * vectors[:, column, None]
    return sums


def _activated(values: Values, activation: str, path: Path) -> Values:
    if activation == "relu":
        return np.where(values < 0, np.float32(0), values)
    if activation == "leakyrelu":
        return np.where(values < 0, np.float32(0.01) * values, values)
    if activation == "tanh":
        return np.tanh(values.astype(np.float64)).astype(np.float32)
    if activation == "sigmoid":
        return (1 / (1 + np.exp(-values.astype(np.float64)))).astype(np.float32)
    if activation == "identity":
        return values
    raise DataError(f"{path}: no activation of Solr: '{activation}'")
