"""A small network from features to relevance, fitted to click statistics.

torch is imported when it is fitted; afterwards it is a few numpy arrays.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from pydantic import Field

from cltr.options import Options
from cltr.training.adam import Adam
from cltr.training.cache_blocks import cache_blocks
from cltr.training.network_pass import backward, forward, torch_product
from cltr.types import Affine, ClickData, Floats, Integers
from cltr_dr.examples import (
    ROWS_AT_ONCE,
    Counts,
    Examples,
    Inputs,
    Matrix,
    Moments,
    standardise,
    with_a_column,
)
from cltr_dr.loss import loss, slopes
from cltr_dr.targets import LossName

if TYPE_CHECKING:
    import torch

Layers: TypeAlias = tuple[tuple[Matrix, Matrix], ...]
"""Weights ``[out, in]`` and bias ``[out]`` of each layer."""


class RegressionOptions(Options):
    """Options of the network and of its fit."""

    loss: LossName = Field(
        "clicks",
        description="clicks: likelihood of the clicks; paper: the published loss, unbounded "
        "below; clamped: the published one without negative weights, biased upwards.",
    )
    hidden: tuple[int, ...] = Field(
        (64, 32),
        description=(
            "width of each hidden layer; wider layers fit more; empty is a linear regression."
        ),
    )
    epochs: int = Field(60, ge=0, description="largest number of passes over the documents.")
    patience: int = Field(
        10,
        ge=1,
        description=("stop after this many passes without a better loss on held-out clicks."),
    )
    learning_rate: float = Field(
        5e-3, gt=0, description=("step size; larger is faster and less stable.")
    )
    weight_decay: float = Field(
        0.3,
        ge=0,
        description=(
            "how strongly weights are pulled towards 0; larger fits the "
            "training clicks less closely."
        ),
    )
    batch: int = Field(1024, ge=1, description="number of documents in a step.")
    held_out: float = Field(
        0.15,
        gt=0,
        lt=1,
        description=("share of the displays that are held out, to decide when to stop."),
    )


@dataclass(frozen=True)
class Regression:
    r""":math:`\hat R`: a feed-forward network with ReLU and a sigmoid, as plain arrays."""

    moments: Moments
    layers: Layers

    def __call__(self, features: Matrix) -> Floats:
        """Relevance in (0, 1) from ``[docs, features]``, ``[docs]``.

        By one thread: the last digits of numpy's products depend on how many share the rows.
        """
        from threadpoolctl import threadpool_limits

        features = with_a_column(features)
        with threadpool_limits(1, "blas"):
            parts = [
                self._predict(features[start : start + ROWS_AT_ONCE])
                for start in range(0, len(features), ROWS_AT_ONCE)
            ]
        return np.concatenate([np.empty(0), *parts])

    def _predict(self, features: Matrix) -> Floats:
        values = standardise(features, self.moments)
        for weights, bias in self.layers[:-1]:
            values = np.maximum(values @ weights.T + bias, 0)
        weights, bias = self.layers[-1]
        logits = (values @ weights.T + bias).squeeze(-1).astype(np.float64)
        result: Floats = 0.5 * (1 + np.tanh(0.5 * logits))
        return result


def fit_regression(
    data: ClickData, affine: Affine, options: RegressionOptions, *, seed: int
) -> Regression:
    """Fit to the displayed documents; keep the weights that predict held-out clicks best.

    Displays are held out at random. So the validation measures how well the network predicts new
    clicks on these lists, on documents that were displayed once and on those displayed often.
    """
    rng = np.random.default_rng(seed)
    displayed, kept, held, prior = _examples(data, affine, options, rng)
    inputs = Inputs(with_a_column(data.dataset.features), displayed, kept.rows)
    with _one_thread() as others:
        fit = _Fit(options, inputs, seed=seed, rng=rng, aside=others)
        return fit.run(kept, held, prior=prior)


def _examples(
    data: ClickData, affine: Affine, options: RegressionOptions, rng: np.random.Generator
) -> tuple[Integers, Examples, Examples, float]:
    """Displayed rows, what to fit to, what to judge by, and where to start.

    The counts that they are made of are gone when the fit begins.
    """
    kept, held = Counts.displayed(data.statistics).split(options.held_out, rng)
    to_fit, to_judge = (Examples.of(data, affine, options.loss, one) for one in (kept, held))
    return kept.rows, to_fit, to_judge, _overall(kept, affine, data.dataset.n_documents)


@contextmanager
def _one_thread() -> Iterator[bool]:
    """Batches are too small to share: one thread is faster, and the same bits on any machine.

    Yields whether there is another thread that could do something else.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield threads > 1
    finally:
        torch.set_num_threads(threads)


def _overall(counts: Counts, affine: Affine, n_documents: int) -> float:
    """Relevance of a typical display: where the fit starts."""
    examination, trust = affine
    _, impressions, clicks = counts

    def total(values: Floats) -> float:
        # Of all documents, since the last digit of a sum depends on its zeros.
        whole = np.zeros((n_documents, values.shape[1]))
        whole[counts.rows] = values
        return float(whole.sum())

    relevant = total(clicks - impressions * trust) + 0.5
    return float(np.clip(relevant / (total(impressions * examination) + 1.0), 0.01, 0.99))


@dataclass
class _Fit:
    """Adam with early stopping; the start counts as a candidate.

    Where there is another thread it gathers the next batches, and judges an epoch while the next
    one runs: what is kept is the same, and at most one epoch is in vain.
    """

    options: RegressionOptions
    inputs: Inputs
    seed: int
    rng: np.random.Generator
    aside: bool = False

    def run(self, kept: Examples, held: Examples, *, prior: float) -> Regression:
        network = self._network(prior)
        layers = _arrays(network)
        best, best_epoch = self._judge(layers, held), 0
        for epoch, (value, found) in enumerate(self._epochs(network, kept, held), 1):
            if value < best:
                best, best_epoch, layers = value, epoch, found
            elif epoch - best_epoch >= self.options.patience:
                break
        return Regression(self.inputs.moments, layers)

    def _network(self, prior: float) -> "torch.nn.ModuleList":
        """Layers with seeded weights; the last bias is that of a typical display."""
        import torch
        from torch import nn

        widths = [self.inputs.n_features, *self.options.hidden, 1]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            linear = [nn.Linear(i, o) for i, o in pairwise(widths)]
        nn.init.constant_(linear[-1].bias, float(np.log(prior / (1 - prior))))
        return nn.ModuleList(linear)

    def _epochs(
        self, network: "torch.nn.ModuleList", kept: Examples, held: Examples
    ) -> Iterator[tuple[float, Layers]]:
        """Held-out loss and weights of one epoch after the other."""
        import torch

        optimizer = Adam(
            network.named_parameters(),
            learning_rate=self.options.learning_rate,
            weight_decay=self.options.weight_decay,
        )
        with ThreadPoolExecutor(1, initializer=torch.set_num_threads, initargs=(1,)) as judge:
            waiting: tuple[Future[float], Layers] | None = None
            for _ in range(self.options.epochs):
                self._epoch(network, optimizer, kept)
                layers = _arrays(network)
                if not self.aside:
                    yield self._judge(layers, held), layers
                    continue
                if waiting is not None:
                    yield waiting[0].result(), waiting[1]
                waiting = judge.submit(self._judge, layers, held), layers
            if waiting is not None:
                yield waiting[0].result(), waiting[1]

    def _epoch(self, network: "torch.nn.ModuleList", optimizer: Adam, kept: Examples) -> None:
        """Step by step, with the bits of differentiation by torch, which takes twice the time."""
        parameters = list(network.parameters())
        layers = list(zip(parameters[::2], parameters[1::2], strict=True))
        order = self.rng.permutation(len(kept.rows))
        for batch in kept.batches(self.inputs, self.options.batch, order, ahead=self.aside):
            between, logits = forward(batch.inputs, layers, torch_product)
            found = backward(between, slopes(logits, batch), layers, torch_product)
            for parameter, gradient in zip(parameters, found, strict=True):
                parameter.grad = gradient
            optimizer.step()

    def _judge(self, layers: Layers, held: Examples) -> float:
        batches = held.batches(self.inputs, ROWS_AT_ONCE, np.arange(len(held.rows)))
        return sum(float(loss(_logits(batch.inputs, layers), batch)) for batch in batches)


def _logits(inputs: "torch.Tensor", layers: Layers) -> "torch.Tensor":
    """As the network has them, ``[rows]``; in blocks that stay in the cache."""
    import torch

    tensors = [(torch.from_numpy(weights), torch.from_numpy(bias)) for weights, bias in layers]
    blocks = (inputs[rows] for rows in cache_blocks(len(inputs)))
    return torch.cat([forward(block, tensors, torch_product)[1] for block in blocks])


def _arrays(network: "torch.nn.ModuleList") -> Layers:
    arrays = [one.detach().numpy().copy() for one in network.parameters()]
    return tuple(zip(arrays[::2], arrays[1::2], strict=True))
