"""Matrix products of a network's layers, by the library that is fastest on this processor.

Layers are small. For them, oneDNN, which torch brings along, takes about half the time of MKL, the
library that torch uses by itself, on processors of AMD. On those of Intel it is as fast for what
goes through a layer, and MKL is faster for the gradients of weights
(``tests/benchmarks/epoch.py``).
"""

import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import torch

Through: TypeAlias = "Callable[..., torch.Tensor]"
Gradient: TypeAlias = "Callable[[torch.Tensor, torch.Tensor], torch.Tensor]"
OF_AMD = ("znver", "bdver", "btver", "amdfam", "barcelona", "k8")
"""How LLVM's names of processors begin."""


class Products(NamedTuple):
    """Who multiplies."""

    through: Through
    """``(values, weights, bias, then)``: ``values @ weights.T + bias``, and then maybe ``relu``."""
    gradient: Gradient
    """``(slopes, values)``: ``slopes.T @ values``, the gradient of weights."""


def fast_products() -> bool:
    """Whether there is oneDNN, and nobody asked for what all processors compute alike."""
    import torch

    alike = os.environ.get("MKL_CBWR") == "COMPATIBLE"
    return not alike and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def chosen_products() -> Products:
    """The fast ones, or torch's where all processors should compute alike."""
    if not fast_products():
        return TORCH
    return Products(through_onednn, gradient_torch) if mkl_at_its_best() else ONEDNN


@cache
def mkl_at_its_best() -> bool:
    """Whether torch's own products run at full speed: MKL's do on processors of Intel."""
    import torch
    from llvmlite.binding import get_host_cpu_name

    there: bool = torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
    return there and not get_host_cpu_name().startswith(OF_AMD)


def through_onednn(
    values: "torch.Tensor",
    weights: "torch.Tensor",
    bias: "torch.Tensor | None" = None,
    then: str = "none",
) -> "torch.Tensor":
    """A layer by oneDNN."""
    import torch

    made: torch.Tensor = torch.ops.mkldnn._linear_pointwise(values, weights, bias, then, [], "")
    return made


def gradient_onednn(slopes: "torch.Tensor", values: "torch.Tensor") -> "torch.Tensor":
    """The gradient of weights by oneDNN."""
    return through_onednn(slopes.t(), values.t())


def through_torch(
    values: "torch.Tensor",
    weights: "torch.Tensor",
    bias: "torch.Tensor | None" = None,
    then: str = "none",
) -> "torch.Tensor":
    """The same with the bits of torch's own layers."""
    import torch

    if bias is None:
        return values @ weights.t()
    made = torch.addmm(bias, values, weights.t())
    return made.relu_() if then == "relu" else made


def gradient_torch(slopes: "torch.Tensor", values: "torch.Tensor") -> "torch.Tensor":
    """The same with the bits of torch's own differentiation."""
    return slopes.t() @ values


ONEDNN = Products(through_onednn, gradient_onednn)
TORCH = Products(through_torch, gradient_torch)
