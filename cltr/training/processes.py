"""Training by several processes: which queries each of them owns, and what is summed over all.

torchrun starts the same command several times. Every process opens the same data, draws the same
batches and keeps the same weights. In a step it scores only the queries that it owns, and gradients
are summed over all processes before anybody moves. So the policy is that of one process but for the
order of summation, and has the same bits whenever the number of processes is the same. Here is what
a process does that trains alone; :mod:`cltr.training.together` is one of several.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.errors import CltrError
from cltr.models import Model
from cltr.training.adam import Adam
from cltr.types import Dataset, Floats, Integers, Rewards

Places = tuple[Path | None, Path | None]


class ProcessesError(CltrError):
    """Processes that train together were separated, or do not agree."""


@dataclass(frozen=True)
class Share:
    """The queries of a split that a process owns: ``first`` to ``last - 1``."""

    first: int
    last: int
    rewards: Rewards
    """Of these queries alone."""

    def of(self, queries: Integers) -> Integers:
        """Those of some queries that are owned."""
        return queries[(queries >= self.first) & (queries < self.last)]


class Processes:
    """One process that trains alone: it owns all queries, and every sum is its own."""

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes the run and speaks."""
        return self.rank == 0

    def require(self, model: Model) -> None:
        """Refuse a model that several processes cannot train."""

    def connect(self, model: Model, training: Rewards) -> None:
        """Train a model with the other processes.

        Args:
            model: whose gradients are summed.
            training: whose queries must weigh the same in all processes.
        """

    def share(self, split: Rewards) -> Share:
        """What this process owns of a split."""
        return Share(0, split.dataset.n_queries, split)

    def draws(self, rng: np.random.Generator) -> np.random.Generator:
        """What a ranker draws from in this process."""
        return rng

    def total(self, value: float) -> float:
        """The sum of a number over all processes."""
        return value

    def add(self, optimizer: Adam) -> None:
        """Sum the gradients of a step over all processes."""

    busy: bool = False
    """Whether all processes are in a training now."""

    @contextmanager
    def working(self) -> Iterator[None]:
        """A training of all processes; if it fails, this process stays busy."""
        self.busy = self.count > 1
        yield
        self.busy = False

    def from_first(self, text: str) -> str:
        """The text of the first process."""
        return text

    def bytes_from_first(self, data: bytes) -> bytes:
        """The data of the first process."""
        return data

    def deal(self, values: Floats | None, dataset: Dataset) -> Floats:
        """Values of the documents that this process owns; the first process has all of them.

        Args:
            values: of all documents, in the first process; None in others.
            dataset: whose documents.

        Returns:
            ``[docs]``; in others than the first, what they do not own is 0 and takes no memory.
        """
        del dataset
        assert values is not None
        return values

    def own_rows(self, dataset: Dataset) -> slice:
        """Rows of the documents that this process owns."""
        return slice(0, dataset.n_documents)

    def agree(self, arrays: Iterable[NDArray[Any]]) -> None:
        """Refuse to go on where processes do not have the same numbers."""

    @contextmanager
    def places(self, out: Path | None, resume: Path | None) -> Iterator[Places]:
        """Where this process writes: the folder of a new run, or that of one to resume."""
        yield out, resume


ALONE = Processes()
_current = ALONE


def train_with(processes: Processes) -> None:
    """From now on this process trains with these; with ``ALONE``, alone again."""
    global _current  # noqa: PLW0603  # a process trains with the same others all its life
    _current = processes


def current_processes() -> Processes:
    """Those that this process trains with; itself alone unless it has joined others."""
    return _current
