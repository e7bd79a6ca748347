"""Run a module over documents: scores in bounded memory, and a fit to given scores."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from cltr.interfaces import Scorer
from cltr.types import Dataset, Floats, Integers

if TYPE_CHECKING:
    import torch

ROWS_AT_ONCE = 65_536
"""Documents that are scored together: bounds memory, whatever the data set's size."""


def tensors(dataset: Dataset, rows: Integers | slice) -> "tuple[torch.Tensor, torch.Tensor]":
    """What a scorer's module takes of some documents: features and row numbers.

    Features that lie on disk are read here, and no others. Rows that lie side by side (a slice)
    are not copied.
    """
    import torch

    if isinstance(rows, slice):
        features = dataset.features[rows]
        numbers = np.arange(rows.start, rows.start + len(features))
    else:
        features, numbers = np.take(dataset.features, rows, axis=0), rows
    features = np.ascontiguousarray(features, dtype=np.float32)
    return torch.from_numpy(features), torch.from_numpy(numbers + dataset.first_document)


def score(module: "torch.nn.Module", dataset: Dataset, *, chunk: int = ROWS_AT_ONCE) -> Floats:
    """Scores of all documents, ``[docs]``, in chunks of bounded size."""
    import torch

    module.eval()
    scores = np.empty(dataset.n_documents)
    with torch.inference_mode():
        for start in range(0, dataset.n_documents, chunk):
            rows = slice(start, min(start + chunk, dataset.n_documents))
            scores[rows] = module(*tensors(dataset, rows)).numpy()
    return scores


def fit_scores(
    module: "torch.nn.Module", dataset: Dataset, scores: Floats, *, epochs: int = 300
) -> None:
    """Fit a module to given scores, up to a constant per query: a start from production.

    Least squares on scores centred per list, since a constant changes no ranking. ``epochs`` steps
    on all documents, or on parts of a data set with very many, in turn.
    """
    import torch

    optimizer = torch.optim.Adam(module.parameters(), lr=3e-3, fused=True)
    parts = list(_parts(dataset))
    for epoch in range(epochs):
        part = parts[epoch % len(parts)]
        chosen = dataset.queries(*part)
        rows = slice(int(dataset.offsets[part[0]]), int(dataset.offsets[part[1]]))
        optimizer.zero_grad()
        _squared_error(module, chosen, scores[rows]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def _parts(dataset: Dataset) -> Iterator[tuple[int, int]]:
    """Ranges of queries with at most ``ROWS_AT_ONCE`` documents, or one query."""
    first = 0
    while first < dataset.n_queries:
        most = int(dataset.offsets[first]) + ROWS_AT_ONCE
        last = int(np.searchsorted(dataset.offsets, most, side="right")) - 1
        yield first, max(last, first + 1)
        first = max(last, first + 1)


def _squared_error(module: "torch.nn.Module", dataset: Dataset, scores: Floats) -> "torch.Tensor":
    import torch

    lengths = torch.from_numpy(dataset.lists.lengths)
    owner = torch.repeat_interleave(lengths)
    target = torch.from_numpy(scores)

    def centred(values: torch.Tensor) -> torch.Tensor:
        sums = torch.zeros(len(lengths), dtype=values.dtype).index_add(0, owner, values)
        return values - (sums / lengths.clamp(min=1))[owner]

    found = module(*tensors(dataset, slice(0, dataset.n_documents)))
    return torch.mean((centred(found) - centred(target).to(found.dtype)) ** 2)


def new_module(scorer: Scorer, dataset: Dataset, *, seed: int) -> "torch.nn.Module":
    """A scorer's module with seeded initial weights."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return scorer.build(dataset.n_features, dataset.n_documents)
