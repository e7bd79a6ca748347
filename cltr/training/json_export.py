"""Export a linear or feed-forward ranker as one JSON file that needs no library to read."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from cltr.documents import Documents
from cltr.errors import DataError, UnsupportedError
from cltr.extensions import Exporter, TrainedRanker
from cltr.types import Floats

FORMAT, VERSION = "cltr-ranker", 1
LAYER = re.compile(r"layers\.(\d+)\.(weight|bias)")


class JsonExporter(Exporter):
    """Layers of a linear or feed-forward ranker, with how its features were normalised.

    A score is ``layers`` applied in turn: ``weights @ x + bias``, and between two layers
    ``max(0, .)``. ``x`` are the features after ``normalization``.
    """

    name = "json"
    suffix = ".json"

    def write(self, ranker: TrainedRanker, path: Path) -> None:
        layers = _layers(ranker)
        found = {
            "format": FORMAT,
            "version": VERSION,
            "scorer": ranker.scorer,
            "policy": ranker.policy,
            "top_k": ranker.top_k,
            "n_features": ranker.n_features,
            "normalization": _normalization(ranker),
            "layers": [
                {"weights": weights.tolist(), "bias": bias.tolist()} for weights, bias in layers
            ],
            "about": dict(ranker.about),
        }
        path.write_text(json.dumps(found, allow_nan=False) + "\n", encoding="utf-8")

    def scores(self, path: Path, documents: Documents) -> Floats:
        found = json.loads(path.read_text(encoding="utf-8"))
        if (found.get("format"), found.get("version")) != (FORMAT, VERSION):
            raise DataError(f"{path}: not a ranker in JSON of version {VERSION}")
        values = np.asarray(documents.features, dtype=np.float64)
        for number, layer in enumerate(found["layers"]):
            values = np.maximum(values, 0.0) if number else values
            values = values @ np.array(layer["weights"]).T + np.array(layer["bias"])
        return np.asarray(values[:, 0])


def _layers(ranker: TrainedRanker) -> list[tuple[Floats, Floats]]:
    """Weights and bias of each layer; refuses a state that has anything else in it."""
    found: dict[int, dict[str, Floats]] = {}
    for key, array in ranker.state.items():
        match = LAYER.fullmatch(key)
        if match is None:
            raise UnsupportedError(
                f"scorer '{ranker.scorer}' cannot be exported to JSON: it has '{key}', which is no "
                "layer of a feed-forward network"
            )
        found.setdefault(int(match[1]), {})[match[2]] = np.asarray(array, dtype=np.float64)
    if not found or any(set(layer) != {"weight", "bias"} for layer in found.values()):
        raise UnsupportedError(f"scorer '{ranker.scorer}' has no layers to export to JSON")
    return [(found[number]["weight"], found[number]["bias"]) for number in sorted(found)]


def _normalization(ranker: TrainedRanker) -> dict[str, Any] | None:
    used = ranker.normalization
    if used is None:
        return None
    return {"name": used.name, "center": used.center.tolist(), "scale": used.scale.tolist()}
