"""The loss of the regression at its logits, and its slopes; see ``cltr_dr.targets``."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import torch

LEAST_PROBABILITY = 1e-11
"""Logarithms are taken of no less, as in the paper's code."""


class BatchTargets(NamedTuple):
    """Targets of some documents."""

    hits: "torch.Tensor"
    """``[rows, columns]``."""
    misses: "torch.Tensor"
    slope: "torch.Tensor"
    """Of each column, ``[columns]``."""
    offset: "torch.Tensor"

    @property
    def rest(self) -> "torch.Tensor":
        """Chance of no click on a relevant document; in full, as 1 - p is not exact near 1."""
        return (1 - self.slope - self.offset).clamp(min=0)


def loss(logits: "torch.Tensor", targets: BatchTargets) -> "torch.Tensor":
    """The sum over some documents, from logits ``[rows]``."""
    import torch

    logits = logits.unsqueeze(-1)
    click = targets.slope * torch.sigmoid(logits) + targets.offset
    no_click = targets.rest + targets.slope * torch.sigmoid(-logits)
    return -(
        targets.hits * click.clamp(min=LEAST_PROBABILITY).log()
        + targets.misses * no_click.clamp(min=LEAST_PROBABILITY).log()
    ).sum()


def slopes(logits: "torch.Tensor", targets: BatchTargets) -> "torch.Tensor":
    """The derivative of :func:`loss` by each logit, ``[rows]``: the bits of autograd's."""
    import torch

    from cltr_dr.kernels.slopes import by_chance, by_logit

    chances = torch.sigmoid(logits).numpy(), torch.sigmoid(-logits).numpy()
    numbers = (one.numpy() for one in (*targets, targets.rest))
    terms = torch.empty(2, *targets.hits.shape)
    by_chance(*chances, *numbers, np.float32(LEAST_PROBABILITY), terms.numpy())
    found = torch.empty_like(logits)
    by_logit(*chances, terms.sum(-1).numpy(), found.numpy())
    return found
