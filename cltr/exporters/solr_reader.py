"""What Apache Solr computes from a model file, in Java's 32 bits.

Written from Solr's own sources; it knows nothing of how cltr writes such files. Repository
apache/solr, main branch (development of Solr 10), folder
``solr/modules/ltr/src/java/org/apache/solr/ltr``: ``model/NeuralNetworkModel.java`` (commit
1a87471), ``model/LinearModel.java`` (19c29c5), ``model/LTRScoringModel.java`` (1611b20),
``norm/StandardNormalizer.java`` (9f5b2c7), ``norm/MinMaxNormalizer.java`` (b5a1179),
``store/rest/ManagedModelStore.java`` (2ae0730); and ``util/SolrPluginUtils.java`` (06799eb) of
Solr's core.

Every product and every sum is rounded to a float, in the order of the columns, from the bias on.
What Solr would refuse is refused: a whole number in a matrix (it casts to Double), a number instead
of text in a normalizer (no setter of that type), a key without a setter.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError
from cltr.types import Floats

Column = NDArray[np.float32]
PACKAGE = "org.apache.solr.ltr"


def solr_scores(path: Path, features: dict[str, Floats]) -> Floats:
    """Scores by a Solr model of documents with these feature values, ``[docs]``.

    Args:
        path: what would be uploaded to the model store.
        features: values by name, ``[docs]`` each.
    """
    model = json.loads(path.read_text(encoding="utf-8"))
    try:
        return _score(model, features).astype(np.float64)
    except ValueError as error:
        raise DataError(f"{path}: Solr would refuse the model: {error}") from error


def _score(model: dict[str, Any], features: dict[str, Floats]) -> Column:
    entries = model.get("features") or []
    names = [_text(entry, "name") for entry in entries]
    _demand(bool(names), "it declares no features")
    _demand(len({*names}) == len(names), "it declares a feature twice")
    columns = []
    for name, entry in zip(names, entries, strict=True):
        _demand(name in features, f"feature '{name}' is not in the store")
        columns.append(_normalized(np.asarray(features[name], np.float32), entry.get("norm")))
    params = model.get("params") or {}
    match str(model.get("class")).removeprefix(f"{PACKAGE}.model."):
        case "LinearModel":
            return _linear(params, names, columns)
        case "NeuralNetworkModel":
            return _network(params, columns)
    raise ValueError(f"no class that is known here: {model.get('class')}")


def _normalized(column: Column, norm: dict[str, Any] | None) -> Column:
    if norm is None:
        return column
    kind, params = str(norm.get("class")).removeprefix(f"{PACKAGE}.norm."), norm.get("params") or {}
    if kind == "IdentityNormalizer":
        return column
    known = {"StandardNormalizer": ("avg", "std"), "MinMaxNormalizer": ("min", "max")}
    _demand(kind in known, f"no normalizer that is known here: {norm.get('class')}")
    _demand({*params} == {*known[kind]}, f"{kind} takes {' and '.join(known[kind])}")
    first, second = (np.float32(_text(params, key)) for key in known[kind])
    if kind == "MinMaxNormalizer":
        second = second - first
        _demand(second != 0, "the width of a normalizer must not be 0")
    else:
        _demand(second > 0, "the deviation of a normalizer must be positive")
    return np.asarray((column - first) / second)


def _linear(params: dict[str, Any], names: list[str], columns: list[Column]) -> Column:
    """Products of features and weights, added up from 0; there is no bias."""
    _demand({*params} == {"weights"}, "LinearModel takes weights alone")
    score = np.zeros_like(columns[0])
    for name, column in zip(names, columns, strict=True):
        weight = params["weights"].get(name)
        _demand(isinstance(weight, float | int), f"there is no weight of feature '{name}'")
        score += column * np.float32(weight)
    return score


def _network(params: dict[str, Any], columns: list[Column]) -> Column:
    """Layer after layer; the last one has one output."""
    _demand({*params} == {"layers"}, "NeuralNetworkModel takes layers alone")
    values = columns
    for number, layer in enumerate(params["layers"]):
        values = _layer(layer, values, f"layer {number}")
    _demand(len(values) == 1, f"the last layer must have one row, not {len(values)}")
    return values[0]


def _layer(layer: dict[str, Any], inputs: list[Column], where: str) -> list[Column]:
    _demand({*layer} == {"matrix", "bias", "activation"}, f"{where} has other keys")
    matrix, bias, name = layer["matrix"], layer["bias"], layer["activation"]
    _demand(len(bias) == len(matrix), f"bias and matrix of {where} have other numbers of rows")
    outputs = []
    for row, start in zip(matrix, bias, strict=True):
        _demand(len(row) == len(inputs), f"{where} has {len(row)} columns for {len(inputs)} inputs")
        doubles = all(isinstance(value, float) for value in (start, *row))
        _demand(doubles, f"{where} has a value that is no double")
        total = np.full_like(inputs[0], start)
        for weight, value in zip(row, inputs, strict=True):
            total += np.float32(weight) * value
        outputs.append(_activated(total, name, where))
    return outputs


def _activated(values: Column, name: str, where: str) -> Column:
    wide = values.astype(np.float64)  # Java's Math takes and gives doubles
    match name:
        case "identity":
            return values
        case "relu":
            return np.where(values < 0, np.float32(0), values)
        case "leakyrelu":
            return np.where(values < 0, np.float32(0.01) * values, values)
        case "tanh":
            return np.tanh(wide).astype(np.float32)
        case "sigmoid":
            with np.errstate(over="ignore"):
                return np.asarray(1 / (1 + np.exp(-wide))).astype(np.float32)
    raise ValueError(f"{where} has no activation of Solr: '{name}'")


def _text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    _demand(isinstance(value, str), f"'{key}' must be text, not {value!r}")
    return str(value)


def _demand(right: Any, reason: str) -> None:
    if not right:
        raise ValueError(reason)
