"""Models that give every document a score; torch is imported when one is built."""

from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic import Field

from cltr.errors import UsageError
from cltr.interfaces import Scorer
from cltr.options import Options
from cltr.types import Floats

if TYPE_CHECKING:
    import torch


def _some(n_features: int, scorer: Scorer) -> int:
    """The number of features, which must not be 0: all documents would have one score."""
    if n_features == 0:
        raise UsageError(
            f"the scorer '{scorer.name}' needs features, and the data have none; use --scorer "
            "table, or ingest the log with --data"
        )
    return n_features


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
        return _feed_forward([_some(n_features, self), *self.options.hidden, 1])


class Linear(Scorer):
    """A weighted sum of the features."""

    name = "linear"

    def build(self, n_features: int, n_documents: int) -> "torch.nn.Module":
        del n_documents
        return _feed_forward([_some(n_features, self), 1])


class TableScorer(Scorer):
    r"""One score per query and document, for logs without features.

    It says nothing of documents that it has not seen. A score is :math:`s_d = r w_d` with the rate
    r, so that a step of Adam, which moves every weight by about the learning rate, moves scores
    far enough.
    """

    name = "table"

    class Options(Options):
        """How fast scores move."""

        rate: float = Field(
            30.0,
            gt=0,
            allow_inf_nan=False,
            description="how far a score moves in a step, in learning rates; larger is faster.",
        )

    options: "TableScorer.Options"

    def build(self, n_features: int, n_documents: int) -> "torch.nn.Module":
        del n_features
        return _table(n_documents, self.options.rate)

    def copy_scores(self, module: "torch.nn.Module", scores: Floats) -> bool:
        import torch

        with torch.no_grad():
            weights = torch.from_numpy(scores / self.options.rate)
            module.get_parameter("weights").copy_(weights)
        return True


def _table(n_documents: int, rate: float) -> "torch.nn.Module":
    import torch
    from torch import nn

    class PerDocument(nn.Module):
        """Scores by row number; features are not used. In double precision, as policies are."""

        def __init__(self) -> None:
            super().__init__()
            self.weights = nn.Parameter(torch.zeros(n_documents, dtype=torch.float64))

        def forward(self, features: "torch.Tensor", rows: "torch.Tensor") -> "torch.Tensor":
            del features
            return rate * self.weights[rows]

    return PerDocument()


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
