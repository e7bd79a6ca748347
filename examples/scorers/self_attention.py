"""A scorer that looks at whole lists: each document attends to the others of its list.

cltr train --plugin examples/scorers/self_attention.py --scorer self-attention
"""

from typing import TYPE_CHECKING, Any

from pydantic import Field

from cltr.documents import ModelSetup
from cltr.hookspecs import hookimpl
from cltr.options import Options
from cltr.training.torch_model import Tensors, TorchScorer

if TYPE_CHECKING:
    import torch


class SelfAttention(TorchScorer):
    """One block of self-attention over the documents of a list."""

    name = "self-attention"

    class Options(Options):
        """Its shape."""

        width: int = Field(32, ge=1, description="numbers that describe a document; more fit more.")

    options: "SelfAttention.Options"

    def module(self, setup: ModelSetup) -> "torch.nn.Module":
        return _block(setup.n_features, self.options.width)


def _block(n_features: int, width: int) -> "torch.nn.Module":
    import torch
    from torch import nn

    class Block(nn.Module):
        """Features to ``width`` numbers, attention, and a weighted sum."""

        def __init__(self) -> None:
            super().__init__()
            self.inputs = nn.Linear(n_features, width)
            self.parts = nn.Linear(width, 3 * width)
            self.output = nn.Linear(width, 1)

        def forward(self, documents: Tensors) -> "torch.Tensor":
            described = torch.relu(self.inputs(documents.features))
            lengths = torch.diff(documents.offsets)
            places = torch.arange(int(lengths.max()) if len(lengths) else 0)
            real = places < lengths[:, None]  # [lists, longest]
            padded = described.new_zeros(*real.shape, width)
            padded[real] = described
            query, key, value = self.parts(padded).chunk(3, dim=-1)
            seen = nn.functional.scaled_dot_product_attention(
                query, key, value, attn_mask=real[:, None, :]
            )
            scores: torch.Tensor = self.output(described + seen[real]).squeeze(-1)
            return scores

    return Block()


@hookimpl
def cltr_scorers() -> list[type[Any]]:
    """Offer it by name: ``--scorer self-attention``."""
    return [SelfAttention]
