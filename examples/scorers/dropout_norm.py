"""A network with dropout and batch normalisation: random in training, and yet reproducible.

cltr train --plugin examples/scorers/dropout_norm.py --scorer dropout-norm
"""

from typing import TYPE_CHECKING, Any

from pydantic import Field

from cltr.documents import ModelSetup
from cltr.hookspecs import hookimpl
from cltr.options import Options
from cltr.training.torch_model import Tensors, TorchScorer

if TYPE_CHECKING:
    import torch


class DropoutNorm(TorchScorer):
    """A hidden layer with batch normalisation and dropout."""

    name = "dropout-norm"

    class Options(Options):
        """Its shape."""

        hidden: int = Field(64, ge=1, description="width of the hidden layer; more can fit more.")
        dropout: float = Field(
            0.2, ge=0, lt=1, description="share of the layer that is left out in each step."
        )

    options: "DropoutNorm.Options"

    def module(self, setup: ModelSetup) -> "torch.nn.Module":
        return _network(setup.n_features, self.options.hidden, self.options.dropout)


def _network(n_features: int, hidden: int, dropout: float) -> "torch.nn.Module":
    import torch
    from torch import nn

    class Network(nn.Module):
        """Its buffers, the running means and variances, are part of its state."""

        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(n_features, hidden)
            self.norm = nn.BatchNorm1d(hidden)
            self.last = nn.Linear(hidden, 1)

        def forward(self, documents: Tensors) -> "torch.Tensor":
            layer = self.first(documents.features)
            if self.training and len(layer) < 2:  # a single document has no variance
                layer = nn.functional.batch_norm(
                    layer, self.norm.running_mean, self.norm.running_var
                )
            else:
                layer = self.norm(layer)
            layer = nn.functional.dropout(torch.relu(layer), dropout, training=self.training)
            scores: torch.Tensor = self.last(layer).squeeze(-1)
            return scores

    return Network()


@hookimpl
def cltr_scorers() -> list[type[Any]]:
    """Offer it by name: ``--scorer dropout-norm``."""
    return [DropoutNorm]
