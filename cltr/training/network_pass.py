"""The forward and the backward pass of a feed-forward network with ReLU, in blocks of rows.

Threads share the blocks. Which rows a block has does not depend on the number of threads, and the
gradients of blocks are added up in order, so results do not depend on it either. Products are those
of oneDNN, which torch brings along: on layers as small as these they take about half the time of
the products that torch uses by itself (``tests/benchmarks/epoch.py``). Who has one block at a time
calls :func:`forward` and :func:`backward` with :func:`chosen_product`.
"""

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from cltr.training.threads import by_threads

if TYPE_CHECKING:
    import torch

ROWS = 2048
"""In a block at most: what is computed of it stays in the cache."""
MULTIPLE = 64
"""Blocks are filled up with rows of 0 to a multiple of this: oneDNN compiles for each shape."""
Layer = tuple["torch.Tensor", "torch.Tensor"]
"""Weights ``[out, in]`` and bias ``[out]``."""
Product: TypeAlias = "Callable[..., torch.Tensor]"
""":func:`fast_product` or :func:`torch_product`."""


def fast_products() -> bool:
    """Whether there is oneDNN, and nobody asked for what all processors compute alike."""
    import torch

    alike = os.environ.get("MKL_CBWR") == "COMPATIBLE"
    return not alike and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def chosen_product() -> "Product":
    """The fast one, or torch's where all processors should compute alike."""
    return fast_product if fast_products() else torch_product


def network_scores(features: "torch.Tensor", layers: Sequence[Layer]) -> "torch.Tensor":
    """Scores of rows, ``[rows]``; their gradient goes to the layers.

    Args:
        features: ``[rows, features]``, float32, at least one row.
        layers: with ReLU between them; the last has one output.
    """
    import torch

    if torch.is_grad_enabled():
        parameters = [one for layer in layers for one in layer]
        scores: torch.Tensor = _both_passes().apply(features, *parameters)
        return scores
    parts = by_threads(lambda block: forward(block, layers)[1], _blocks(features))
    return torch.cat(parts)[: len(features)]


@cache
def _both_passes() -> Any:
    import torch

    class BothPasses(torch.autograd.Function):
        """As torch's differentiation calls them."""

        @staticmethod
        def forward(context: Any, features: Any, *parameters: Any) -> Any:
            layers = layers_of(parameters)
            found = by_threads(lambda block: forward(block, layers), _blocks(features))
            context.save_for_backward(*parameters)
            context.inputs = [inputs for inputs, _ in found]
            return torch.cat([scores for _, scores in found])[: len(features)]

        @staticmethod
        def backward(context: Any, slopes: Any) -> Any:
            layers = layers_of(context.saved_tensors)
            blocks = zip(context.inputs, slopes.split(_rows(len(slopes))), strict=True)
            found = by_threads(lambda block: _filled_up(*block, layers), blocks)
            return None, *(sum(of_blocks) for of_blocks in zip(*found, strict=True))

    return BothPasses


def layers_of(parameters: "Sequence[torch.Tensor]") -> list[Layer]:
    """Weights and bias of each layer, from those of all layers one after the other."""
    return list(zip(parameters[::2], parameters[1::2], strict=True))


def _rows(n: int) -> int:
    """In each block but the last: an even number of blocks, so that two threads share alike."""
    blocks = 1 if n <= ROWS // 2 else 2 * -(-n // (2 * ROWS))
    return MULTIPLE * -(-n // (blocks * MULTIPLE))


def _blocks(features: "torch.Tensor") -> "list[torch.Tensor]":
    """All rows, the last block filled up with rows of 0."""
    import torch
    from torch.nn.functional import pad

    *blocks, last = torch.split(features, _rows(len(features)))
    missing = -len(last) % MULTIPLE
    return [*blocks, pad(last, (0, 0, 0, missing)) if missing else last]


def _filled_up(
    inputs: "Sequence[torch.Tensor]", slopes: "torch.Tensor", layers: Sequence[Layer]
) -> "list[torch.Tensor]":
    """The backward pass of a block that may have rows of 0 at its end."""
    from torch.nn.functional import pad

    return backward(inputs, pad(slopes, (0, len(inputs[0]) - len(slopes))), layers)


def fast_product(
    values: "torch.Tensor",
    weights: "torch.Tensor",
    bias: "torch.Tensor | None" = None,
    then: str = "none",
) -> "torch.Tensor":
    """``values @ weights.T + bias``, and ReLU if asked for."""
    import torch

    made: torch.Tensor = torch.ops.mkldnn._linear_pointwise(values, weights, bias, then, [], "")
    return made


def torch_product(
    values: "torch.Tensor",
    weights: "torch.Tensor",
    bias: "torch.Tensor | None" = None,
    then: str = "none",
) -> "torch.Tensor":
    """The same with the bits of torch's own layers and of their derivatives."""
    import torch

    if bias is None:
        return values @ weights.t()
    made = torch.addmm(bias, values, weights.t())
    return made.relu_() if then == "relu" else made


def forward(
    values: "torch.Tensor", layers: Sequence[Layer], product: Product = fast_product
) -> "tuple[list[torch.Tensor], torch.Tensor]":
    """What goes into each layer, and the scores ``[rows]``."""
    import torch

    *hidden, (weights, bias) = layers
    inputs = [values]
    with torch.no_grad():
        for layer in hidden:
            inputs.append(product(inputs[-1], *layer, "relu"))
        return inputs, torch.addmm(bias, inputs[-1], weights.t()).squeeze(-1)


def backward(
    inputs: "Sequence[torch.Tensor]",
    slopes: "torch.Tensor",
    layers: Sequence[Layer],
    product: Product = fast_product,
) -> "list[torch.Tensor]":
    """Gradients of weights and bias, layer by layer.

    Args:
        inputs: of each layer, of :func:`forward`.
        slopes: derivatives by the scores, ``[rows]``.
        layers: with ReLU between them; the last has one output.
        product: as in :func:`forward`.
    """
    import torch

    with torch.no_grad():
        behind = slopes.unsqueeze(-1)
        found = [behind.t() @ inputs[-1], behind.sum(0)]
        passed = behind * layers[-1][0]
        for values, ahead, (weights, _) in reversed(
            list(zip(inputs[:-1], inputs[1:], layers[:-1], strict=True))
        ):
            behind = torch.ops.aten.threshold_backward(passed, ahead, 0.0)
            found[:0] = [product(behind.t(), values.t()), behind.sum(0)]
            if values is not inputs[0]:
                passed = product(behind, weights.t())
        return found
