"""A linear or feed-forward ranker as one JSON file that needs no library to read."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from cltr.documents import Documents
from cltr.errors import DataError
from cltr.exporters.network import Network, Step
from cltr.extensions import Exporter, TrainedRanker
from cltr.types import Floats

FORMAT, VERSION = "cltr-ranker", 1


class JsonExporter(Exporter):
    """JSON with the input steps and the layers of a linear or feed-forward ranker.

    Each of ``steps`` changes every feature x: ``sign(x) log(1 + |x| / unit)`` where ``tailed``,
    then ``(x - center) * factor``, then cut at ``-limit`` and ``limit`` unless it is null. The step
    ``query-min-max`` is ``(x - min) / (max - min)`` over the query's own list, 0 if all are equal.
    Then ``layers`` in turn: ``weights @ x + bias``, and between two layers ``max(0, .)``. With
    ``adds_to_production``, production's score of the document is added.
    """

    name = "json"
    suffix = ".json"

    def write(self, ranker: TrainedRanker, path: Path) -> None:
        network = Network.of(ranker, to="JSON", by_query=True)
        used = ranker.normalization
        by_query = [{"name": used.name}] if used and used.name == "query-min-max" else []
        found = {
            "format": FORMAT,
            "version": VERSION,
            "scorer": ranker.scorer,
            "policy": ranker.policy,
            "top_k": ranker.top_k,
            "n_features": ranker.n_features,
            "features": list(network.names),
            "normalization": used.name if used else "none",
            "steps": [*by_query, *map(_plain, network.steps)],
            "layers": [
                {"weights": weights.tolist(), "bias": bias.tolist()}
                for weights, bias in network.layers
            ],
            "adds_to_production": network.adds,
            "about": dict(ranker.about),
        }
        path.write_text(json.dumps(found, allow_nan=False) + "\n", encoding="utf-8")

    def scores(self, path: Path, documents: Documents) -> Floats:
        found = json.loads(path.read_text(encoding="utf-8"))
        if (found.get("format"), found.get("version")) != (FORMAT, VERSION):
            raise DataError(f"{path}: not a ranker in JSON of version {VERSION}")
        values = np.asarray(documents.features, dtype=np.float64)
        for step in found.get("steps", ()):
            values = _stepped(values, step, documents)
        for number, layer in enumerate(found["layers"]):
            values = np.maximum(values, 0.0) if number else values
            values = values @ np.array(layer["weights"]).T + np.array(layer["bias"])
        if not found.get("adds_to_production"):
            return np.asarray(values[:, 0])
        if documents.production is None:
            raise DataError(f"{path}: production's scores are an input")
        return np.asarray(values[:, 0] + documents.production)


def _plain(step: Step) -> dict[str, Any]:
    lists = {name: getattr(step, name).tolist() for name in ("tailed", "unit", "center", "factor")}
    return {"name": "each", **lists, "limit": step.limit}


def _stepped(values: Floats, step: dict[str, Any], documents: Documents) -> Floats:
    if step["name"] == "query-min-max":
        starts, lengths = documents.offsets[:-1], np.diff(documents.offsets)
        low = np.minimum.reduceat(values, starts, axis=0)
        span = np.maximum.reduceat(values, starts, axis=0) - low
        span[span == 0] = 1.0
        return np.asarray(
            (values - np.repeat(low, lengths, axis=0)) / np.repeat(span, lengths, axis=0)
        )
    sizes = np.log1p(np.abs(values) / np.array(step["unit"]))
    values = np.where(step["tailed"], np.copysign(sizes, values), values)
    values = (values - np.array(step["center"])) * np.array(step["factor"])
    limit = step["limit"]
    return values if limit is None else np.clip(values, -limit, limit)
