r"""Where the documents' parameters of a click model come from: a table, or features.

In every click model the M-step of a document's parameter is the same: of so many expected trials,
so many succeeded. A **table** takes their ratio, document by document, pulled towards a prior; a
**regression** fits a network to the ratios, so that unseen documents get an estimate too
(regression-EM: Wang et al., WSDM'18).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cltr.types import Floats

if TYPE_CHECKING:
    import torch

TINY = 1e-9
"""Regressions keep this distance from 0 and 1."""
STRENGTH = (0.02, 1e4)
"""Least and most trials that a mean may be worth."""
RIDGE = 1e-6
"""Price of the squared weights of a regression, beside a mean over trials."""
LEARNING_RATE = 0.03
"""Step size of Adam, for standardised features."""


class RelevanceModel(Protocol):
    """From expected successes and trials to a probability per document."""

    def update(self, successes: Floats, trials: Floats) -> Floats:
        """The M-step, ``[docs]``."""
        ...

    def penalty(self, values: Floats) -> float:
        """What is added to the log-likelihood."""
        ...


@dataclass(frozen=True)
class RelevanceTable:
    r"""One number per document: :math:`(\text{successes} + s m) / (\text{trials} + s)`.

    It maximises the log-likelihood plus :math:`s \sum_d m \log x_d + (1 - m) \log(1 - x_d)`.

    Example:
        >>> table = RelevanceTable(smoothing=2.0, prior=0.25)
        >>> table.update(np.array([3.0, 0.0]), np.array([4.0, 0.0]))
        array([0.58333333, 0.25      ])
    """

    smoothing: float
    prior: float | Floats
    """m, one number or one per document."""

    def update(self, successes: Floats, trials: Floats) -> Floats:
        total, expected = trials + self.smoothing, successes + self.smoothing * self.prior
        if (total > 0).all():
            values = expected / total
        else:
            values = np.array(np.broadcast_to(self.prior, total.shape), dtype=np.float64)
            np.divide(expected, total, out=values, where=total > 0)
        return values.clip(0.0, 1.0)  # sums of shares may exceed their whole by a rounding

    def penalty(self, values: Floats) -> float:
        if self.smoothing == 0.0:
            return 0.0
        prior = np.asarray(self.prior)
        rewarded = times_log(prior, values) + times_log(1.0 - prior, 1.0 - values)
        return float(self.smoothing * rewarded.sum())


def times_log(amount: Floats, value: Floats) -> Floats:
    """``amount * log(value)``, and 0 where the amount is 0: what did not happen costs nothing.

    Example:
        >>> times_log(np.array([0.0, 2.0]), np.array([0.0, 1.0]))
        array([0., 0.])
    """
    if np.shape(amount) != np.shape(value):
        amount, value = np.broadcast_arrays(amount, value)
    with np.errstate(divide="ignore"):
        logs = np.log(value, out=np.zeros(value.shape), where=amount != 0)
    return np.multiply(amount, logs)


class Spread(NamedTuple):
    """How a parameter varies over documents."""

    mean: float
    strength: float
    """Trials that the mean is worth beside a document's own; large if documents are alike."""

    @classmethod
    def of_moments(cls, mean: float, variance: float) -> "Spread":
        """Of the beta distribution with this mean and variance."""
        mean = float(np.clip(mean, 1e-6, 1.0 - 1e-6))
        strength = mean * (1.0 - mean) / max(variance, 1e-12) - 1.0
        return cls(mean, float(np.clip(strength, *STRENGTH)))

    def table(self, smoothing: "float | str") -> RelevanceTable:
        """The table with this prior, as strong as asked for, or as documents are alike."""
        return RelevanceTable(self.strength if isinstance(smoothing, str) else smoothing, self.mean)


class Regression:
    r"""A feed-forward network on standardised features, with a sigmoid at its end.

    Each M-step continues from where the one before ended, by a few steps of Adam on the
    cross-entropy with the expected successes, over all documents at once.
    """

    def __init__(
        self,
        features: NDArray[np.float32],
        *,
        prior: float,
        hidden: tuple[int, ...] = (),
        steps: int = 20,
        seed: int = 0,
    ) -> None:
        self.steps = steps
        mean = features.mean(0, dtype=np.float64)
        deviation = features.std(0, dtype=np.float64)
        self.weights = _initial(features.shape[1], hidden, prior, seed)
        self.weights["mean"] = mean
        self.weights["scale"] = np.where(deviation > 0, 1.0 / np.maximum(deviation, 1e-30), 0.0)
        self.inputs = _standardise(features, self.weights)
        self.optimizer: torch.optim.Optimizer | None = None

    def update(self, successes: Floats, trials: Floats) -> Floats:
        import torch

        tensors = self._tensors()
        assert self.optimizer is not None
        x, hits, all_ = map(torch.as_tensor, (self.inputs, successes, trials))
        for _ in range(self.steps):
            self.optimizer.zero_grad()
            loss = _cross_entropy(x, hits, all_ - hits, tensors)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
        return _forward(self.inputs, self.weights)

    def _tensors(self) -> "list[torch.Tensor]":
        """The layers as torch sees them, in the same memory as the weights."""
        import torch

        if self.optimizer is None:
            names = [name for name in self.weights if name[:4] in ("weig", "bias")]
            tensors = [torch.from_numpy(self.weights[name]).requires_grad_() for name in names]
            self.optimizer = torch.optim.Adam(tensors, lr=LEARNING_RATE, fused=True)
        return list(self.optimizer.param_groups[0]["params"])

    def penalty(self, values: Floats) -> float:
        del values
        return 0.0


def predict(features: NDArray[np.float32], weights: Mapping[str, Floats]) -> Floats:
    """Estimates of any documents from a regression's weights, ``[docs]``; needs no torch."""
    values = _forward(_standardise(features, weights), weights)
    return rescale_relevance(values, *weights["ends"]) if "ends" in weights else values


def rescale_relevance(relevance: Floats, low: float, high: float) -> Floats:
    """Relevance when ``low`` becomes 0 and ``high`` 1.

    Example:
        >>> rescale_relevance(np.array([0.1, 0.5, 0.95]), 0.1, 0.9)
        array([0. , 0.5, 1. ])
    """
    return np.clip((relevance - low) / (high - low), 0.0, 1.0)


def _standardise(features: NDArray[Any], weights: Mapping[str, Floats]) -> NDArray[np.float32]:
    return ((features - weights["mean"]) * weights["scale"]).astype(np.float32)


def _initial(
    n_features: int, hidden: tuple[int, ...], prior: float, seed: int
) -> dict[str, Floats]:
    """Small random layers; the last one starts at the prior."""
    rng = np.random.default_rng(seed)
    weights: dict[str, Floats] = {}
    widths = [n_features, *hidden, 1]
    for layer, (fan_in, fan_out) in enumerate(pairwise(widths)):
        last = layer == len(widths) - 2
        size = 0.0 if last else np.sqrt(2.0 / fan_in)
        weights[f"weight-{layer}"] = size * rng.normal(size=(fan_in, fan_out))
        weights[f"bias-{layer}"] = np.full(fan_out, np.log(prior / (1 - prior)) if last else 0.0)
    return weights


def _layers(weights: Mapping[str, Any]) -> int:
    return sum(name.startswith("weight-") for name in weights)


def _forward(inputs: NDArray[np.float32], weights: Mapping[str, Floats]) -> Floats:
    value: NDArray[Any] = inputs
    for layer in range(_layers(weights)):
        value = value if layer == 0 else np.maximum(value, 0.0)
        value = value @ weights[f"weight-{layer}"] + weights[f"bias-{layer}"]
    probabilities: Floats = 0.5 * (1.0 + np.tanh(0.5 * value[:, 0].astype(np.float64)))
    return probabilities.clip(TINY, 1.0 - TINY)


def _cross_entropy(
    inputs: "torch.Tensor",
    hits: "torch.Tensor",
    misses: "torch.Tensor",
    layers: "list[torch.Tensor]",
) -> "torch.Tensor":
    """Per trial, with a small price on squared weights."""
    from torch.nn.functional import softplus

    value = inputs.double()
    for layer in range(0, len(layers), 2):
        value = value if layer == 0 else value.relu()
        value = value @ layers[layer] + layers[layer + 1]
    score = value[:, 0]
    total = (hits * softplus(-score) + misses * softplus(score)).sum()
    mean = total / (hits + misses).sum().clamp(min=1.0)
    for weight in layers[::2]:
        mean = mean + RIDGE * (weight * weight).sum()
    return mean
