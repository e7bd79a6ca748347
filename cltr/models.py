"""The contracts of what components give: a ranker its policy, a scorer its model."""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, Protocol

import numpy as np

from cltr.documents import Documents, State
from cltr.errors import UnsupportedError
from cltr.types import Booleans, Floats, Integers, Lists


class Policy(ABC):
    """A distribution over rankings, given scores; flat or padded arrays alike (see ``Lists``)."""

    name: str
    """What results call it."""

    @abstractmethod
    def expected_weights(self, scores: Floats, lists: Lists, rank_weights: Floats) -> Floats:
        r""":math:`\omega`: each document's expected rank weight, in the layout of ``scores``."""

    def rank_distribution(self, scores: Floats, lists: Lists, top_k: int) -> Floats:
        """P(rank(d) = k), ``[..., docs, K]``: the expected weights of each rank alone."""
        by_rank = [self.expected_weights(scores, lists, unit) for unit in np.eye(top_k)]
        return np.stack(by_rank, axis=-1)

    def first_weights(
        self, scores: Floats, lists: Lists, chosen: Booleans, rank_weights: Floats
    ) -> Floats | None:
        """Expected rank weight of the first chosen document of each list, ``[queries]``.

        0 where none is chosen; with the weights 1/k it is the reciprocal rank. None if unknown.
        """
        del scores, lists, chosen, rank_weights
        return None

    def expected_ranks(self, scores: Floats, lists: Lists, rows: Integers) -> Floats | None:
        """Expected ranks of some documents in their whole lists, from 1, ``[rows]``; or None."""
        del scores, lists, rows
        return None

    def with_ties(self, ties: Literal["order", "expected"]) -> "Policy":
        """The policy that breaks ties of scores like this; itself where ties do not matter."""
        del ties
        return self


class Ascent(Protocol):
    """Asked by a model in a step: where should these scores go?"""

    def __call__(self, scores: Floats) -> Floats:
        """Direction of ascent at the scores of the step's documents, ``[docs]``."""
        ...

    def curvature(self, scores: Floats) -> Floats | None:
        """The ranker's :meth:`Ranker.curvature` there, ``[docs]``; None if it has none."""
        ...


class Model(ABC):
    """Gives every document a score, and learns. All of its randomness comes from its seed."""

    whole: ClassVar[bool] = False
    """Whether a step takes all training queries at once; else a few at a time."""

    @abstractmethod
    def scores(self, documents: Documents) -> Floats:
        """Scores of the documents of whole lists, ``[docs]``; changes nothing."""

    @abstractmethod
    def step(self, documents: Documents, ascent: Ascent) -> None:
        """One step: score the documents once, ask ``ascent`` with these scores, and follow it.

        Args:
            documents: of whole lists; with ``whole`` the same object in every step of a training.
            ascent: from scores to the direction in which the objective rises.
        """

    @abstractmethod
    def state(self) -> State:
        """All that :meth:`scores` depends on."""

    @abstractmethod
    def load_state(self, state: State) -> None:
        """Score as the model that gave this state; KeyError or ValueError if it does not fit."""

    def training_state(self) -> State:
        """What further steps depend on beside :meth:`state`: moments, the number of steps."""
        return {}

    def load_training_state(self, state: State) -> None:
        """Go on as the model that gave this state would."""
        del state

    def start_from(self, documents: Documents, queries: Booleans) -> None:
        """Score documents as production does, as nearly as the model can, before any step.

        Args:
            documents: all of the data set, with production's scores.
            queries: training queries on which production is known, ``[queries]``.
        """
        del documents, queries
        raise UnsupportedError("this model cannot start from production; use --init random")
