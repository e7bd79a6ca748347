"""The forward and the backward pass of a feed-forward network with ReLU, in blocks of rows.

Threads share the blocks. Which rows a block has does not depend on the number of threads, and the
gradients of blocks are added up in order, so results do not depend on it either. Who has one block
at a time calls :func:`forward` and :func:`backward`.

Most documents of a list have next to no chance of a good rank, and the objective hardly changes
with their scores. The backward pass leaves them out: :func:`without_small_slopes`.
"""

from collections.abc import Sequence
from functools import cache, reduce
from operator import add
from typing import TYPE_CHECKING, Any

from cltr.training.products import Products, chosen_products
from cltr.training.threads import by_threads

if TYPE_CHECKING:
    import torch

ROWS = 2048
"""In a block at most: what is computed of it stays in the cache."""
MULTIPLE = 64
"""Blocks are filled up with rows of 0 to a multiple of this: oneDNN compiles for each shape."""
SMALL_SLOPE = 0.01
"""Share of the mean slope of a list, in size, below which a document's slope is left out: so all
that are left out are together less than this share of the list's slopes."""
Layer = tuple["torch.Tensor", "torch.Tensor"]
"""Weights ``[out, in]`` and bias ``[out]``."""


def network_scores(
    features: "torch.Tensor", layers: Sequence[Layer], offsets: "torch.Tensor | None" = None
) -> "torch.Tensor":
    """Scores of rows, ``[rows]``; their gradient goes to the layers.

    Args:
        features: ``[rows, features]``, float32, at least one row.
        layers: with ReLU between them; the last has one output.
        offsets: of lists, ``[lists + 1]``: gradients leave out the small slopes of each; None if
            all slopes count.
    """
    import torch

    if torch.is_grad_enabled():
        parameters = [one for layer in layers for one in layer]
        scores: torch.Tensor = _both_passes().apply(features, offsets, *parameters)
        return scores
    products = chosen_products()
    parts = by_threads(lambda block: forward(block, layers, products)[1], _blocks(features))
    return torch.cat(parts)[: len(features)]


@cache
def _both_passes() -> Any:
    import torch

    class BothPasses(torch.autograd.Function):
        """As torch's differentiation calls them."""

        @staticmethod
        def forward(context: Any, features: Any, offsets: Any, *parameters: Any) -> Any:
            layers, context.offsets = layers_of(parameters), offsets
            context.products = products = chosen_products()
            found = by_threads(lambda block: forward(block, layers, products), _blocks(features))
            context.save_for_backward(*parameters)
            context.inputs = [inputs for inputs, _ in found]
            return torch.cat([scores for _, scores in found])[: len(features)]

        @staticmethod
        def backward(context: Any, slopes: Any) -> Any:
            layers, products = layers_of(context.saved_tensors), context.products
            if context.offsets is not None:
                slopes = without_small_slopes(slopes, context.offsets)
            blocks = zip(context.inputs, slopes.split(_rows(len(slopes))), strict=True)
            found = by_threads(lambda block: _of_slopes(*block, layers, products), blocks)
            return None, None, *(reduce(add, each) for each in zip(*found, strict=True))

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


def without_small_slopes(slopes: "torch.Tensor", offsets: "torch.Tensor") -> "torch.Tensor":
    """The slopes of whole lists, 0 where they are small beside the others of their list.

    Args:
        slopes: ``[rows]``.
        offsets: of the lists, ``[lists + 1]``.

    Example:
        >>> import torch
        >>> slopes = torch.tensor([5.0, -3.0, 0.02, 0.03])
        >>> without_small_slopes(slopes, torch.tensor([0, 3, 4]))
        tensor([ 5.0000, -3.0000,  0.0000,  0.0300])
    """
    import torch

    from cltr.kernels.small_slopes import leave_out

    kept = torch.empty_like(slopes)
    leave_out(slopes.numpy(), offsets.numpy(), SMALL_SLOPE, kept.numpy())
    return kept


def _of_slopes(
    inputs: "Sequence[torch.Tensor]",
    slopes: "torch.Tensor",
    layers: Sequence[Layer],
    products: Products,
) -> "list[torch.Tensor]":
    """The backward pass of the rows of a block that have a slope; it may have more rows."""
    from torch.nn.functional import pad

    rows = slopes.nonzero().squeeze(-1)
    n = MULTIPLE * max(1, -(-len(rows) // MULTIPLE))
    if n == len(inputs[0]):
        return backward(inputs, pad(slopes, (0, n - len(slopes))), layers, products)
    # Filled up with the first row, without a slope.
    missing = n - len(rows)
    chosen = pad(rows, (0, missing))
    inputs = [one.index_select(0, chosen) for one in inputs]
    return backward(inputs, pad(slopes[rows], (0, missing)), layers, products)


def forward(
    values: "torch.Tensor", layers: Sequence[Layer], products: Products
) -> "tuple[list[torch.Tensor], torch.Tensor]":
    """What goes into each layer, and the scores ``[rows]``."""
    import torch

    *hidden, (weights, bias) = layers
    inputs = [values]
    with torch.no_grad():
        for layer in hidden:
            inputs.append(products.through(inputs[-1], *layer, "relu"))
        return inputs, torch.addmm(bias, inputs[-1], weights.t()).squeeze(-1)


def backward(
    inputs: "Sequence[torch.Tensor]",
    slopes: "torch.Tensor",
    layers: Sequence[Layer],
    products: Products,
) -> "list[torch.Tensor]":
    """Gradients of weights and bias, layer by layer.

    Args:
        inputs: of each layer, of :func:`forward`.
        slopes: derivatives by the scores, ``[rows]``.
        layers: with ReLU between them; the last has one output.
        products: who multiplies.
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
            found[:0] = [products.gradient(behind, values), behind.sum(0)]
            if values is not inputs[0]:
                passed = products.through(behind, weights.t())
        return found
