"""[6] Models that give every document a score; torch is imported when one is built."""

from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic import Field

from cltr.interfaces import Scorer
from cltr.options import Options

if TYPE_CHECKING:
    import torch


class Mlp(Scorer):
    """A feed-forward network with ReLU, the paper's 150-75 by default."""

    name = "mlp"

    class Options(Options):
        """Its shape."""

        hidden: tuple[int, ...] = Field(
            (150, 75), description="width of each hidden layer; more can fit more."
        )

    options: "Mlp.Options"

    def build(self, n_features: int, n_documents: int) -> "torch.nn.Module":
        del n_documents
        return _feed_forward([n_features, *self.options.hidden, 1])


class Linear(Scorer):
    """A weighted sum of the features."""

    name = "linear"

    def build(self, n_features: int, n_documents: int) -> "torch.nn.Module":
        del n_documents
        return _feed_forward([n_features, 1])


def _feed_forward(widths: list[int]) -> "torch.nn.Module":
    from torch import nn

    layers: list[nn.Module] = []
    for i, (fan_in, fan_out) in enumerate(pairwise(widths)):
        layers += [nn.ReLU()] * (i > 0) + [nn.Linear(fan_in, fan_out)]

    class FeedForward(nn.Module):
        """Scores from features alone; the row number is not used."""

        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(*layers)

        def forward(self, features: "torch.Tensor", rows: "torch.Tensor") -> "torch.Tensor":
            del rows
            scores: torch.Tensor = self.layers(features)
            return scores.squeeze(-1)

    return FeedForward()
