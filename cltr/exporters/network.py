r"""A learned ranker as plain arithmetic: steps on each raw feature, then layers.

.. math:: s(x) = W_L \max(0, \dots \max(0, W_1 z(x) + b_1) \dots) + b_L \; (+ \; s_0)

where z is a chain of steps on single features, and :math:`s_0` is production's score where the
model adds to it.
"""

import re
from dataclasses import dataclass

import numpy as np

from cltr.data.feature_columns import numbered, shown
from cltr.data.normalization import Normalization
from cltr.errors import UnsupportedError
from cltr.extensions import TrainedRanker
from cltr.types import Booleans, Floats

LAYER = re.compile(r"layers\.(\d+)\.(weight|bias)")
STANDARD = ("inputs/tailed", "inputs/unit", "inputs/center", "inputs/scale")
"""Arrays of a model that standardises its own inputs."""
LIMIT = 10.0
"""Deviations at which such a model cuts its inputs."""
ADDS = "adds_to_production"
"""In the state of a model whose scores are added to production's."""


@dataclass(frozen=True)
class Step:
    r"""On each feature: :math:`\text{clip}((u(x) - m) f, -l, l)`, ``[features]`` each.

    u is :math:`\text{sign}(x) \log(1 + |x| / c)` where ``tailed``, and x elsewhere.
    """

    tailed: Booleans
    unit: Floats
    """c"""
    center: Floats
    """m"""
    factor: Floats
    """f; 0 for a feature that does not vary."""
    limit: float | None = None
    """l; None if nothing is cut."""


@dataclass(frozen=True)
class Network:
    """Steps on raw features, layers with ReLU between them, and perhaps production's score."""

    names: tuple[str, ...]
    """Of the features; their numbers from 1 where they have none."""
    steps: tuple[Step, ...]
    layers: tuple[tuple[Floats, Floats], ...]
    """Weights ``[outputs, inputs]`` and bias ``[outputs]`` of each."""
    adds: bool = False
    """Whether production's score is added."""

    @classmethod
    def of(cls, ranker: TrainedRanker, *, to: str, by_query: bool = False) -> "Network":
        """The arithmetic of a linear or feed-forward ranker; ``UnsupportedError`` for others.

        Args:
            ranker: of a run.
            to: what the format is called, for messages.
            by_query: whether the format can normalise features by query; then that step is left
                to the caller.
        """
        state, n = dict(ranker.state), ranker.n_features
        adds = state.pop(ADDS, None) is not None
        steps = _normalization(ranker, to=to, by_query=by_query)
        if STANDARD[0] in state:
            tailed, unit, center, scale = (np.asarray(state.pop(name)) for name in STANDARD)
            steps = (*steps, Step(tailed.astype(np.bool_), unit, center, 1.0 / scale, LIMIT))
        layers = _layers(ranker.scorer, state, to)
        names = tuple(ranker.feature_names) or tuple(numbered(n))
        return cls(names, steps, layers, adds)

    def affine(self, *, to: str) -> tuple[Floats, Floats, float | None]:
        """The steps as one: centre, factor and limit; refuses a logarithm."""
        center, factor = np.zeros(len(self.names)), np.ones(len(self.names))
        limit: float | None = None
        for step in self.steps:
            if step.tailed.any():
                logged = [name for name, one in zip(self.names, step.tailed, strict=True) if one]
                raise UnsupportedError(
                    f"{to} cannot compute logarithms, and the model takes the logarithm of "
                    f"{shown(logged)}; train on features that are logarithms already, or export to "
                    "onnx"
                )
            if limit is not None:
                raise UnsupportedError(f"{to} cannot clip inputs twice; export to onnx")
            varies = factor != 0
            shift = np.divide(step.center, factor, out=np.zeros_like(center), where=varies)
            center, factor = center + shift, factor * step.factor
            limit = step.limit
        return center, factor, limit


def _normalization(ranker: TrainedRanker, *, to: str, by_query: bool) -> tuple[Step, ...]:
    used = ranker.normalization or Normalization()
    if used.name == "none" or (by_query and used.name == "query-min-max"):
        return ()
    if used.name == "query-min-max":
        raise UnsupportedError(
            f"{to} scores one document at a time, and the features are normalised by the least and "
            "the largest value in each query's list; import the data with another --normalize"
        )
    tailed = np.full(ranker.n_features, used.name == "log1p-z-score")
    return (Step(tailed, np.ones(ranker.n_features), used.center, 1.0 / used.scale),)


def _layers(scorer: str, state: dict[str, Floats], to: str) -> tuple[tuple[Floats, Floats], ...]:
    """Weights and bias of each layer; refuses a state that has anything else in it."""
    found: dict[int, dict[str, Floats]] = {}
    for key, array in state.items():
        match = LAYER.fullmatch(key)
        if match is None:
            raise UnsupportedError(
                f"scorer '{scorer}' cannot be exported to {to}: it has '{key}', which is no "
                "layer of a feed-forward network; train with --scorer mlp or linear, write scores "
                "with cltr rank, or write an exporter (cltr plugins new)"
            )
        found.setdefault(int(match[1]), {})[match[2]] = np.asarray(array, dtype=np.float64)
    if not found or any(set(layer) != {"weight", "bias"} for layer in found.values()):
        raise UnsupportedError(f"scorer '{scorer}' has no layers to export to {to}")
    return tuple((found[number]["weight"], found[number]["bias"]) for number in sorted(found))
