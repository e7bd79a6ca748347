"""A small network from features to relevance, fitted to click statistics.

torch is imported when it is fitted; afterwards it is a few numpy arrays.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cltr.options import Options
from cltr.training.adam import Adam
from cltr.types import Affine, ClickData, Floats, Integers
from cltr_dr.targets import LossName, Targets, make_targets

if TYPE_CHECKING:
    import torch

ROWS_AT_ONCE = 65_536
"""Documents that are predicted together: bounds memory."""
WIDEST = 5.0
"""Features are standardised and cut here, so that an outlier does not decide a prediction."""
LEAST_PROBABILITY = 1e-11
"""Logarithms are taken of no less, as in the paper's code."""


class RegressionOptions(Options):
    """The network and how it is fitted."""

    loss: LossName = Field(
        "clicks",
        description="clicks: likelihood of the clicks; paper: the published loss, unbounded "
        "below; clamped: the published one without negative weights, biased upwards.",
    )
    hidden: tuple[int, ...] = Field(
        (64, 32), description="width of each hidden layer; more can fit more; empty is linear."
    )
    epochs: int = Field(60, ge=0, description="at most this many passes over the documents.")
    patience: int = Field(
        10, ge=1, description="stop after this many epochs without better held-out clicks."
    )
    learning_rate: float = Field(5e-3, gt=0, description="step size; larger is less steady.")
    weight_decay: float = Field(
        0.3, ge=0, description="pull of the weights towards 0; larger generalises more."
    )
    batch: int = Field(1024, ge=1, description="documents in a step.")
    held_out: float = Field(
        0.15, gt=0, lt=1, description="share of the displays that decide when to stop."
    )


@dataclass(frozen=True)
class Regression:
    r""":math:`\hat R`: a feed-forward network with ReLU and a sigmoid, as plain arrays."""

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    layers: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]
    """Weights ``[out, in]`` and bias ``[out]`` of each layer."""

    def __call__(self, features: NDArray[np.float32]) -> Floats:
        """Relevance in (0, 1) from ``[docs, features]``, ``[docs]``."""
        features = with_a_column(features)
        parts = [
            self._predict(features[start : start + ROWS_AT_ONCE])
            for start in range(0, len(features), ROWS_AT_ONCE)
        ]
        return np.concatenate([np.empty(0), *parts])

    def _predict(self, features: NDArray[np.float32]) -> Floats:
        values = standardise(features, self.mean, self.scale)
        for weights, bias in self.layers[:-1]:
            values = np.maximum(values @ weights.T + bias, 0)
        weights, bias = self.layers[-1]
        logits = (values @ weights.T + bias).squeeze(-1).astype(np.float64)
        result: Floats = 0.5 * (1 + np.tanh(0.5 * logits))
        return result


def with_a_column(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """The features, or a column of zeros where a log has none: the fit is then one number."""
    return features if features.shape[1] else np.zeros((len(features), 1), np.float32)


def standardise(
    features: NDArray[np.float32], mean: NDArray[np.float32], scale: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Mean 0, deviation 1, cut at ``WIDEST``."""
    values: NDArray[np.float32] = features - mean
    values /= scale
    return values.clip(-WIDEST, WIDEST, out=values)


def fit_regression(
    data: ClickData, affine: Affine, options: RegressionOptions, *, seed: int
) -> Regression:
    """Fit to the displayed documents; keep the weights that predict held-out clicks best.

    Every display is held out by chance, so where a document was displayed once it is a held-out
    document, and where it was displayed often its clicks are: what is measured is how well new
    clicks on these lists are predicted.
    """
    rng = np.random.default_rng(seed)
    held_clicks, held_others = (
        rng.binomial(counts, options.held_out)
        for counts in (
            data.statistics.clicks,
            data.statistics.impressions - data.statistics.clicks,
        )
    )
    held = held_clicks + held_others, held_clicks
    kept = data.statistics.impressions - held[0], data.statistics.clicks - held[1]
    examples = [_Examples.of(data, affine, options, *counts) for counts in (kept, held)]
    with _one_thread():
        return _Fit(options, seed=seed, rng=rng).run(*examples, prior=_overall(*kept, affine))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Batches are too small to share: one thread is faster, and the same bits on any machine."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _overall(impressions: Integers, clicks: Integers, affine: Affine) -> float:
    """Relevance of a typical display: where the fit starts."""
    examination, trust = affine
    relevant = (clicks - impressions * trust).sum() + 0.5
    return float(np.clip(relevant / ((impressions * examination).sum() + 1.0), 0.01, 0.99))


@dataclass(frozen=True)
class _Examples:
    """Displayed documents and their targets, as tensors; features are gathered by batch."""

    features: NDArray[np.float32]
    rows: Integers
    targets: "tuple[torch.Tensor, ...]"

    @classmethod
    def of(
        cls,
        data: ClickData,
        affine: Affine,
        options: RegressionOptions,
        impressions: Integers,
        clicks: Integers,
    ) -> "_Examples":
        import torch

        rows = np.flatnonzero(impressions.any(-1))
        n_interactions = max(data.statistics.n_interactions, 1)
        clip = min(1.0, 10 / np.sqrt(n_interactions))  # the top-5 default of DR'22
        targets = make_targets(
            options.loss,
            impressions=impressions[rows].astype(np.float64),
            clicks=clicks[rows].astype(np.float64),
            affine=affine,
            inverse_propensities=1 / np.maximum(data.exposure.propensities[rows], clip),
        )
        scale = max(np.abs(targets.hits).sum() + np.abs(targets.misses).sum(), 1.0)
        scaled = Targets(targets.hits / scale, targets.misses / scale, *targets[2:])
        tensors = tuple(torch.as_tensor(part, dtype=torch.float32) for part in scaled)
        return cls(with_a_column(data.dataset.features), rows, tensors)

    def batches(self, size: int, order: Integers) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        hits, misses, slope, offset = self.targets
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            yield self.features[self.rows[chosen]], (hits[chosen], misses[chosen], slope, offset)


@dataclass
class _Fit:
    """Adam with early stopping; the start counts as a candidate."""

    options: RegressionOptions
    seed: int
    rng: np.random.Generator

    def run(self, kept: _Examples, held: _Examples, *, prior: float) -> Regression:
        options = self.options
        self.mean, self.scale = _moments(kept)
        module = self._module(kept.features.shape[1], prior)
        optimizer = Adam(
            module.named_parameters(),
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
        )
        best, best_epoch, layers = self._judge(module, held), 0, _arrays(module)
        for epoch in range(1, options.epochs + 1):
            self._epoch(module, optimizer, kept)
            value = self._judge(module, held)
            if value < best:
                best, best_epoch, layers = value, epoch, _arrays(module)
            elif epoch - best_epoch >= options.patience:
                break
        return Regression(self.mean, self.scale, layers)

    def _module(self, n_features: int, prior: float) -> "torch.nn.Sequential":
        """Seeded weights; the last bias is that of a typical display."""
        import torch
        from torch import nn

        widths = [n_features, *self.options.hidden, 1]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            linear = [nn.Linear(i, o) for i, o in pairwise(widths)]
        nn.init.constant_(linear[-1].bias, float(np.log(prior / (1 - prior))))
        layers: list[nn.Module] = [linear[0]]
        for layer in linear[1:]:
            layers += [nn.ReLU(), layer]
        return nn.Sequential(*layers)

    def _loss(self, module: Any, features: NDArray[np.float32], targets: tuple[Any, ...]) -> Any:
        import torch

        hits, misses, slope, offset = targets
        inputs = torch.from_numpy(standardise(features, self.mean, self.scale))
        logits = module(inputs)
        # The complement in full, since 1 - p is not exact where p is near 1.
        click = slope * torch.sigmoid(logits) + offset
        no_click = (1 - slope - offset).clamp(min=0) + slope * torch.sigmoid(-logits)
        return -(
            hits * click.clamp(min=LEAST_PROBABILITY).log()
            + misses * no_click.clamp(min=LEAST_PROBABILITY).log()
        ).sum()

    def _epoch(self, module: Any, optimizer: Adam, kept: _Examples) -> None:
        order = self.rng.permutation(len(kept.rows))
        for features, targets in kept.batches(self.options.batch, order):
            optimizer.clear()
            self._loss(module, features, targets).backward()
            optimizer.step()

    def _judge(self, module: Any, held: _Examples) -> float:
        import torch

        with torch.no_grad():
            batches = held.batches(ROWS_AT_ONCE, np.arange(len(held.rows)))
            return sum(float(self._loss(module, *batch)) for batch in batches)


def _moments(examples: _Examples) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and deviation of the displayed documents' features, a part at a time."""
    n = max(len(examples.rows), 1)
    total, squares = (np.zeros(examples.features.shape[1]) for _ in range(2))
    parts = range(0, len(examples.rows), ROWS_AT_ONCE)
    rows = [examples.rows[start : start + ROWS_AT_ONCE] for start in parts]
    for part in rows:
        total += examples.features[part].sum(0, dtype=np.float64)
    mean = total / n
    for part in rows:
        squares += ((examples.features[part] - mean) ** 2).sum(0)
    scale = np.sqrt(squares / n)
    constant = scale <= 1e-6 * np.abs(mean)
    return mean.astype(np.float32), np.where(constant, 1.0, scale).astype(np.float32)


def _arrays(module: Any) -> tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]:
    linear = [layer for layer in module if hasattr(layer, "weight")]
    return tuple(
        (layer.weight.detach().numpy().copy(), layer.bias.detach().numpy().copy())
        for layer in linear
    )
