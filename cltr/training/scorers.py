"""Models that give every document a score; torch is imported when one is built."""

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from cltr.documents import Documents, ModelSetup
from cltr.errors import UsageError
from cltr.interfaces import Scorer
from cltr.options import Options
from cltr.training.cache_blocks import cache_blocks
from cltr.training.network_pass import Layer, network_scores
from cltr.training.products import fast_products
from cltr.training.torch_model import Tensors, TorchModel, TorchScorer
from cltr.types import Booleans

if TYPE_CHECKING:
    import torch


WIDEST = 65_536
"""Units of a hidden layer at most; more could not be held in memory."""


def _some_features(setup: ModelSetup, scorer: Scorer) -> int:
    """The number of features, which must not be 0: all documents would have one score."""
    if setup.n_features == 0:
        raise UsageError(
            f"the scorer '{scorer.name}' needs features, and the data have none; use --scorer "
            "table, or ingest the log with --data"
        )
    return setup.n_features


class Mlp(TorchScorer):
    """A feed-forward network with ReLU, the paper's 150-75 by default.

    Its gradient leaves out documents that hardly matter: together they have less than 1% of the
    slopes of their list. Studies and figures leave out none.
    """

    name = "mlp"

    class Options(Options):
        """Its shape."""

        hidden: tuple[Annotated[int, Field(ge=1, le=WIDEST)], ...] = Field(
            (150, 75), description="width of each hidden layer; wider layers fit more."
        )

    options: "Mlp.Options"

    def module(self, setup: ModelSetup) -> "torch.nn.Module":
        return _feed_forward([_some_features(setup, self), *self.options.hidden, 1])


class Linear(TorchScorer):
    """A weighted sum of the features."""

    name = "linear"

    def module(self, setup: ModelSetup) -> "torch.nn.Module":
        return _feed_forward([_some_features(setup, self), 1])


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
            description="factor on the learning rate for the scores; larger is faster.",
        )

    options: "TableScorer.Options"

    def build(self, setup: ModelSetup, *, seed: int) -> "TableModel":
        rate = self.options.rate
        return TableModel(_table(setup.n_documents, rate), setup, seed=seed, rate=rate)


class TableModel(TorchModel):
    """A table can have the scores of production itself."""

    by_row = True

    def __init__(
        self, module: "torch.nn.Module", setup: ModelSetup, *, seed: int, rate: float
    ) -> None:
        super().__init__(module, setup, seed=seed)
        self._rate = rate

    def start_from(self, documents: Documents, queries: Booleans) -> None:
        import torch

        del queries
        if documents.production is None:
            raise ValueError("there are no scores of production to start from")
        with torch.no_grad():
            scores = torch.from_numpy(documents.production / self._rate)
            self.module.get_parameter("weights").copy_(scores)


def _table(n_documents: int, rate: float) -> "torch.nn.Module":
    import torch
    from torch import nn

    class PerDocument(nn.Module):
        """Scores by row number; features are not used. In double precision, as policies are."""

        def __init__(self) -> None:
            super().__init__()
            self.weights = nn.Parameter(torch.zeros(n_documents, dtype=torch.float64))

        def forward(self, documents: Tensors) -> "torch.Tensor":
            return rate * self.weights[documents.rows]

    return PerDocument()


def _feed_forward(widths: list[int]) -> "torch.nn.Module":
    import torch
    from torch import nn

    layers: list[nn.Module] = []
    for i, (fan_in, fan_out) in enumerate(pairwise(widths)):
        layers += [nn.ReLU()] * (i > 0) + [nn.Linear(fan_in, fan_out)]

    class FeedForward(nn.Module):
        """Scores from features alone."""

        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(*layers)

        def forward(self, documents: Tensors) -> "torch.Tensor":
            features = documents.features
            if fast_products() and len(features):
                return network_scores(features, self._linear(), documents.offsets)
            if torch.is_grad_enabled():
                scores: torch.Tensor = self.layers(features)
            else:
                parts = [self.layers(features[rows]) for rows in cache_blocks(len(features))]
                scores = torch.cat(parts)
            return scores.squeeze(-1)

        def _linear(self) -> list[Layer]:
            return [(one.weight, one.bias) for one in self.layers if isinstance(one, nn.Linear)]

    return FeedForward()
