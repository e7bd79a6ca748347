"""The inputs of models (documents of whole lists) and of rankers (scores of padded lists)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltr.types import Booleans, Dataset, Floats, Integers, Lists


@dataclass(frozen=True)
class Documents:
    """The documents of some whole lists, one list after the other; a model scores them."""

    features: NDArray[np.float32]
    """``[docs, features]``"""
    rows: Integers
    """Row of each document in the whole data set, ``[docs]``."""
    offsets: Integers
    """``[lists + 1]``: the documents of list i are ``offsets[i]:offsets[i + 1]``."""
    production: Floats | None = None
    """Scores of the production ranker, ``[docs]``, where they are known."""

    @classmethod
    def of(cls, dataset: Dataset) -> "Documents":
        """All documents of a data set; features are not copied."""
        rows = np.arange(dataset.n_documents) + dataset.first_document
        return cls(dataset.features, rows, dataset.offsets, dataset.production)

    @classmethod
    def choose(cls, dataset: Dataset, rows: Integers, lengths: Integers) -> "Documents":
        """Some lists of a data set, their features in memory.

        Args:
            dataset: features that lie on disk are read here, and no others.
            rows: of the lists' documents in the data set, list by list.
            lengths: of the lists.
        """
        return cls(
            np.take(dataset.features, rows, axis=0),
            rows + dataset.first_document,
            np.concatenate([[0], np.cumsum(lengths)]),
            None if dataset.production is None else dataset.production[rows],
        )

    def __len__(self) -> int:
        return len(self.rows)

    def lists(self, first: int, last: int) -> "Documents":
        """Lists ``first`` to ``last - 1``; views, no copies."""
        rows = slice(int(self.offsets[first]), int(self.offsets[last]))
        return Documents(
            self.features[rows],
            self.rows[rows],
            self.offsets[first : last + 1] - rows.start,
            None if self.production is None else self.production[rows],
        )

    def only(self, chosen: Booleans) -> "Documents":
        """The chosen lists, ``[lists]``; views where they lie side by side."""
        places = np.flatnonzero(chosen)
        if not len(places) or len(places) == places[-1] - places[0] + 1:
            first = int(places[0]) if len(places) else 0
            return self.lists(first, first + len(places))
        lengths = np.diff(self.offsets)
        rows = np.flatnonzero(np.repeat(chosen, lengths))
        return Documents(
            self.features[rows],
            self.rows[rows],
            np.concatenate([[0], np.cumsum(lengths[chosen])]),
            None if self.production is None else self.production[rows],
        )

    def parts(self, most: int) -> Iterator[tuple[slice, "Documents"]]:
        """Whole lists with at most ``most`` documents together, or one list; and where they lie."""
        first, n_lists = 0, len(self.offsets) - 1
        while first < n_lists:
            reach = int(self.offsets[first]) + most
            last = max(int(np.searchsorted(self.offsets, reach, side="right")) - 1, first + 1)
            yield slice(int(self.offsets[first]), int(self.offsets[last])), self.lists(first, last)
            first = last


@dataclass(frozen=True)
class Batch:
    """Scores of some lists, padded to the longest list; a ranker works on them."""

    scores: Floats
    """``[queries, docs]``, float64; -inf on padding."""
    mask: Booleans
    """True for real documents, ``[queries, docs]``; padding comes last in each row."""
    rank_weights: Floats
    """Metric weight of each rank, ``[K]``; lists may be shorter than K."""

    @cached_property
    def lists(self) -> Lists:
        """Where each list lies in the raveled arrays."""
        return Lists.of_mask(self.mask)


@dataclass(frozen=True)
class ModelSetup:
    """What :meth:`Scorer.build` is told about the data and the run."""

    n_features: int
    n_documents: int
    """Number of documents of the whole data set."""
    learning_rate: float = 1e-3
    """Learning rate of the run, for models that take gradient steps."""
    weight_decay: float = 0.0
    training: Dataset | None = None
    """The training queries; None if the model is built to load a state."""
    standardize: bool = False
    """True if the model should standardise its features by the training queries."""


State: TypeAlias = Mapping[str, NDArray[Any]]
"""Arrays by name. A model never changes an array that it has returned; it returns a new one. So an
array that is the same object as before is not saved again."""
