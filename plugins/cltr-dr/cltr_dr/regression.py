"""A small network from features to relevance, fitted to click statistics.

torch is imported when it is fitted; afterwards it is a few numpy arrays.
"""

import math
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from pydantic import Field

from cltr.options import Options
from cltr.training.adam import Adam
from cltr.training.network_pass import backward, forward, layers_of
from cltr.training.products import chosen_products
from cltr.training.threads import by_threads, one_thread
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

MANY_STEPS = 1_000
"""Steps of Adam after which a fit goes on only where it still gains something. On many documents a
pass has hundreds of steps, and the loss wavers by more from pass to pass than it falls."""
LEAST_GAIN = 0.001
"""Share of its size by which the loss on held-out clicks must fall then to count as better."""
Layers: TypeAlias = tuple[tuple[Matrix, Matrix], ...]
"""Weights ``[out, in]`` and bias ``[out]`` of each layer."""
Parameters: TypeAlias = "list[torch.nn.Parameter]"
"""Weights and bias of the first layer, of the second, and so on."""


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
        description="stop after this many passes without a better loss on held-out clicks; after "
        f"{MANY_STEPS:,} steps, a loss is better if it is lower by {LEAST_GAIN:.1%} of its size.",
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

        Each part by one thread: the last digits of numpy's products depend on how many share the
        rows.
        """
        from threadpoolctl import threadpool_limits

        features = with_a_column(features)
        starts = range(0, len(features), ROWS_AT_ONCE)
        with threadpool_limits(1, "blas"):
            parts = by_threads(
                self._predict, (features[start : start + ROWS_AT_ONCE] for start in starts)
            )
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
    with one_thread() as threads:  # batches are too small to share
        fit = _Fit(options, inputs, kept, held, seed=seed, rng=rng, aside=threads > 1)
        return fit.run(prior)


def _examples(
    data: ClickData, affine: Affine, options: RegressionOptions, rng: np.random.Generator
) -> tuple[Integers, Examples, Examples, float]:
    """Displayed rows, what to fit to, what to judge by, and where to start.

    The counts that they are made of are gone when the fit begins.
    """
    kept, held = Counts.displayed(data.statistics).split(options.held_out, rng)
    prior = kept.typical_relevance(affine, data.dataset.n_documents)
    to_fit, to_judge = (Examples.of(data, affine, options.loss, one) for one in (kept, held))
    return kept.rows, to_fit, to_judge, prior


@dataclass
class _Fit:
    """Adam with early stopping; the best epoch counts, and the start is a candidate.

    Where there is another thread it gathers the next batches, and judges an epoch while the next
    one runs: what is kept is the same, and at most one epoch is in vain.
    """

    options: RegressionOptions
    inputs: Inputs
    kept: Examples
    held: Examples
    seed: int
    rng: np.random.Generator
    aside: bool = False

    def run(self, prior: float) -> Regression:
        parameters = self._parameters(prior)
        layers = _copied(parameters)
        best = better = self._judge(layers)
        better_epoch, steps = 0, -(-len(self.kept.rows) // self.options.batch)
        for epoch, (value, found) in enumerate(self._epochs(parameters), 1):
            if value < best:
                best, layers = value, found
            least = LEAST_GAIN * abs(better) if epoch * steps > MANY_STEPS else 0.0
            if value < better - least:
                better, better_epoch = value, epoch
            elif epoch - better_epoch >= self.options.patience:
                break
        return Regression(self.inputs.moments, layers)

    def _parameters(self, prior: float) -> "Parameters":
        """Weights and bias of each layer, as torch draws them; the last is a typical display's.

        Torch's own layers would draw them from a generator that all threads share.
        """
        import torch
        from torch import nn

        generator, parameters = torch.Generator().manual_seed(self.seed), []
        for inputs, outputs in pairwise([self.inputs.n_features, *self.options.hidden, 1]):
            weights, bias = torch.empty(outputs, inputs), torch.empty(outputs)
            most = 1 / math.sqrt(inputs)
            nn.init.kaiming_uniform_(weights, a=math.sqrt(5), generator=generator)
            nn.init.uniform_(bias, -most, most, generator=generator)
            parameters += [nn.Parameter(weights), nn.Parameter(bias)]
        nn.init.constant_(parameters[-1], float(np.log(prior / (1 - prior))))
        return parameters

    def _epochs(self, parameters: "Parameters") -> Iterator[tuple[float, Layers]]:
        """Held-out loss and weights of one epoch after the other."""
        import torch

        optimizer = Adam(
            ((str(i), one) for i, one in enumerate(parameters)),
            learning_rate=self.options.learning_rate,
            weight_decay=self.options.weight_decay,
        )
        with ThreadPoolExecutor(1, initializer=torch.set_num_threads, initargs=(1,)) as judge:
            waiting: tuple[Future[float], Layers] | None = None
            for _ in range(self.options.epochs):
                self._epoch(parameters, optimizer)
                layers = _copied(parameters)
                if not self.aside:
                    yield self._judge(layers), layers
                    continue
                if waiting is not None:
                    yield waiting[0].result(), waiting[1]
                waiting = judge.submit(self._judge, layers), layers
            if waiting is not None:
                yield waiting[0].result(), waiting[1]

    def _epoch(self, parameters: "Parameters", optimizer: Adam) -> None:
        """Step by step; without differentiation by torch, which takes longer."""
        layers, products = layers_of(parameters), chosen_products()
        order = self.rng.permutation(len(self.kept.rows))
        batches = self.kept.batches(self.inputs, self.options.batch, order, ahead=self.aside)
        for inputs, targets in batches:
            between, logits = forward(inputs, layers, products)
            found = backward(between, slopes(logits, targets), layers, products)
            for parameter, gradient in zip(parameters, found, strict=True):
                parameter.grad = gradient
            optimizer.step()

    def _judge(self, layers: Layers) -> float:
        """The loss on held-out clicks."""
        import torch

        tensors = layers_of([torch.from_numpy(one) for layer in layers for one in layer])
        total, products = 0.0, chosen_products()
        for blocks, targets in self.held.parts(self.inputs):
            logits = [forward(inputs, tensors, products)[1] for inputs in blocks]
            total += float(loss(torch.cat(logits), targets))
        return total


def _copied(parameters: "Parameters") -> Layers:
    arrays = [one.detach().numpy().copy() for one in parameters]
    return tuple(zip(arrays[::2], arrays[1::2], strict=True))
