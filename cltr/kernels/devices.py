"""Plackett-Luce on another device: flat numpy arrays to padded tensors of torch, and back."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from cltr.errors import UsageError
from cltr.types import Booleans, Floats, Integers, Lists

if TYPE_CHECKING:
    import torch

CELLS_AT_ONCE = 2**18
"""Documents times ranks that are worked on together: bounds memory."""


def device_named(name: str) -> "torch.device":
    """A device of torch that works here."""
    import torch

    try:
        device = torch.device(name)
        torch.zeros(1, dtype=torch.float64, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UsageError(f"device '{name}' cannot be used: {reason}; try cpu") from error
    return device


def by_lists(
    operation: "Callable[..., torch.Tensor]",
    *arrays: Floats,
    lists: Lists,
    rank_weights: Floats,
    device: str,
    accuracy: float,
) -> Floats:
    """Apply an operation of ``plackett_luce_torch`` to lists, some of like length at a time.

    Args:
        operation: takes padded tensors, a mask and rank weights; its result may have more axes.
        arrays: scores, and whatever else it takes per document, flat.
        lists: where each list lies in them.
        rank_weights: ``[K]``
        device: as torch names it.
        accuracy: handed on.
    """
    import torch

    where = device_named(device)

    def tensor(values: Any) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(where)

    weights = tensor(np.asarray(rank_weights, np.float64))
    result: Floats | None = None
    for rows, mask in _chunks(lists, len(rank_weights)):
        padded = [tensor(np.where(mask, values[rows], 0.0)) for values in arrays]
        found = operation(*padded, tensor(mask), weights, accuracy=accuracy).cpu().numpy()
        if result is None:
            result = np.zeros((len(arrays[0]), *found.shape[2:]))
        result[rows[mask]] = found[mask]
    return np.zeros(len(arrays[0])) if result is None else result


def _chunks(lists: Lists, top_k: int) -> Iterator[tuple[Integers, Booleans]]:
    """Rows of the documents of some lists, padded to the longest, and which are real."""
    order = np.argsort(lists.lengths, kind="stable")
    order = order[lists.lengths[order] > 0]
    while len(order):
        longest = int(lists.lengths[order[-1]])
        size = max(1, CELLS_AT_ONCE // (longest * top_k))
        chosen, order = order[-size:], order[:-size]
        places = np.arange(longest)
        mask = places < lists.lengths[chosen][:, None]
        yield np.where(mask, lists.starts[chosen][:, None] + places, 0), mask
