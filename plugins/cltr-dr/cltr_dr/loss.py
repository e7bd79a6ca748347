"""The loss of the regression at its logits, and its slopes; see ``cltr_dr.targets``."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import torch

LEAST_PROBABILITY = 1e-11
"""Logarithms are taken of no less, as in the paper's code."""


class Batch(NamedTuple):
    """Some documents."""

    inputs: "torch.Tensor"
    """Standardised features, ``[rows, features]``."""
    hits: "torch.Tensor"
    """Targets, ``[rows, columns]``."""
    misses: "torch.Tensor"
    slope: "torch.Tensor"
    """Of each column, ``[columns]``."""
    offset: "torch.Tensor"

    @property
    def rest(self) -> "torch.Tensor":
        """Chance of no click on a relevant document; in full, as 1 - p is not exact near 1."""
        return (1 - self.slope - self.offset).clamp(min=0)


def loss(logits: "torch.Tensor", batch: Batch) -> "torch.Tensor":
    """The sum over a batch, from logits ``[rows]``."""
    import torch

    logits = logits.unsqueeze(-1)
    click = batch.slope * torch.sigmoid(logits) + batch.offset
    no_click = batch.rest + batch.slope * torch.sigmoid(-logits)
    return -(
        batch.hits * click.clamp(min=LEAST_PROBABILITY).log()
        + batch.misses * no_click.clamp(min=LEAST_PROBABILITY).log()
    ).sum()


def slopes(logits: "torch.Tensor", batch: Batch) -> "torch.Tensor":
    """The derivative of :func:`loss` by each logit, ``[rows]``: the bits of autograd's."""
    import torch

    from cltr_dr.kernels.slopes import by_chance, by_logit

    chances = torch.sigmoid(logits).numpy(), torch.sigmoid(-logits).numpy()
    targets = (one.numpy() for one in (*batch[1:], batch.rest))
    terms = torch.empty(2, *batch.hits.shape)
    by_chance(*chances, *targets, np.float32(LEAST_PROBABILITY), terms.numpy())
    found = torch.empty_like(logits)
    by_logit(*chances, terms.sum(-1).numpy(), found.numpy())
    return found
