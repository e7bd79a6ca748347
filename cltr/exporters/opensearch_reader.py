"""What OpenSearch's learning-to-rank plugin computes from a linear model, in Java's 32 bits.

Written from the plugin's own sources; it knows nothing of how cltr writes such models. Repository
opensearch-project/opensearch-learning-to-rank-base, main branch (3.x), folder
``src/main/java/com/o19s/es/ltr``: ``rest/RestCreateModelFromSet.java`` (commit 41442a3),
``feature/store/StoredLtrModel.java`` (270f713),
``feature/store/StandardFeatureNormDefinition.java`` (598e97e),
``ranker/parser/LinearRankerParser.java`` (598e97e), ``ranker/linear/LinearRanker.java`` (948a255),
``ranker/DenseFeatureVector.java`` (948a255), ``ranker/normalizer/FeatureNormalizingRanker.java``
(41442a3).

Every product and every sum is rounded to a float, in the order of the feature set. Features without
a weight count 0 times. Parsers of OpenSearch refuse fields that they do not know, and so does this.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError
from cltr.types import Floats


def opensearch_scores(path: Path, features: dict[str, Floats]) -> Floats:
    """Scores by a model of documents with these feature values, ``[docs]``.

    Args:
        path: the body of ``_createmodel``.
        features: values by name, ``[docs]`` each, in the order of the feature set.
    """
    try:
        body = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once)
        _only(body, {"model", "validation"}, "the body")
        _only(body.get("model"), {"name", "model"}, "its model")
        _demand(isinstance(body["model"].get("name"), str), "the model has no name")
        model = body["model"].get("model")
        _only(model, {"type", "definition", "feature_normalizers"}, "the model's definition")
        _demand(model.get("type") == "model/linear", f"no type known here: {model.get('type')}")
        norms = model.get("feature_normalizers", {})
        return _sum(_weights(model), norms, features).astype(np.float64)
    except ValueError as error:
        raise DataError(f"{path}: OpenSearch would refuse the model: {error}") from error


def _weights(model: dict[str, Any]) -> dict[str, Any]:
    """Weights by feature, from an object or from text with one."""
    found = model.get("definition")
    if isinstance(found, str):
        found = json.loads(found, object_pairs_hook=_once)
    _demand(isinstance(found, dict), "'definition' has no weights by feature")
    return {**(found or {})}


def _sum(
    weights: dict[str, Any], norms: dict[str, Any], features: dict[str, Floats]
) -> NDArray[np.float32]:
    for name in (*weights, *norms):
        _demand(name in features, f"feature '{name}' is unknown")
    columns = {name: np.asarray(values, np.float32) for name, values in features.items()}
    for name, norm in norms.items():
        columns[name] = _standardised(columns[name], norm, name)
    score = np.zeros_like(next(iter(columns.values())))
    for name, column in columns.items():
        score += _float(weights.get(name, 0.0), name) * column
    return score


def _standardised(
    column: NDArray[np.float32], norm: dict[str, Any], name: str
) -> NDArray[np.float32]:
    _only(norm, {"standard"}, f"the normalizer of '{name}'")
    _only(norm.get("standard"), {"mean", "standard_deviation"}, f"the normalizer of '{name}'")
    mean = _float(norm["standard"].get("mean", 0.0), "mean")
    deviation = _float(norm["standard"].get("standard_deviation", 0.0), "standard_deviation")
    _demand(deviation > 0, f"the deviation of '{name}' must be positive")
    return np.asarray((column - mean) / deviation)


def _float(value: Any, name: str) -> np.float32:
    number = isinstance(value, float | int) and not isinstance(value, bool)
    _demand(number, f"'{name}' is {value!r}, no number")
    return np.float32(value)


def _only(entry: Any, known: set[str], where: str) -> None:
    _demand(isinstance(entry, dict), f"{where} is no object")
    unknown = sorted({*entry} - known)
    _demand(not unknown, f"{where} has a field that is unknown: {', '.join(unknown)}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    _demand(len(found) == len(pairs), "a field is there twice")
    return found


def _demand(right: Any, reason: str) -> None:
    if not right:
        raise ValueError(reason)
