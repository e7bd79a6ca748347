"""The contracts of a policy, which a ranker trains, and of a model, which a scorer builds."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal, Protocol

import numpy as np

from cltr.documents import Documents, State
from cltr.errors import UnsupportedError
from cltr.types import Booleans, Floats, Integers, Lists


class Policy(ABC):
    """A distribution over rankings, given scores. Arrays are flat or padded (see ``Lists``)."""

    name: str
    """Its name in results."""

    def __init_subclass__(cls, **arguments: object) -> None:
        """A class that changes ``expected_weights`` alone changes ``several_weights`` with it."""
        super().__init_subclass__(**arguments)
        if "expected_weights" in vars(cls) and "several_weights" not in vars(cls):
            cls.several_weights = Policy.several_weights  # type: ignore[method-assign]

    @abstractmethod
    def expected_weights(self, scores: Floats, lists: Lists, rank_weights: Floats) -> Floats:
        r"""Return each document's expected rank weight :math:`\omega`, shaped like ``scores``."""

    def several_weights(
        self, scores: Floats, lists: Lists, rank_weights: Sequence[Floats]
    ) -> list[Floats]:
        """Return the expected weights for several rank weights of one length.

        Exposure and evaluation ask this. It must give the numbers of ``expected_weights`` for each;
        a policy may share work between them.
        """
        return [self.expected_weights(scores, lists, each) for each in rank_weights]

    def rank_distribution(self, scores: Floats, lists: Lists, top_k: int) -> Floats:
        """Return P(rank(d) = k), ``[..., docs, K]``."""
        return np.stack(self.several_weights(scores, lists, list(np.eye(top_k))), axis=-1)

    def first_weights(
        self, scores: Floats, lists: Lists, chosen: Booleans, rank_weights: Floats
    ) -> Floats | None:
        """Return the expected rank weight of the first chosen document of each list.

        The shape is ``[queries]``; a list without a chosen document has 0. With the weights 1/k
        this is the reciprocal rank, which MRR needs. None means unknown.
        """
        del scores, lists, chosen, rank_weights
        return None

    def expected_ranks(self, scores: Floats, lists: Lists, rows: Integers) -> Floats | None:
        """Return the expected ranks of some documents, from 1, ``[rows]``; None if unknown."""
        del scores, lists, rows
        return None

    def with_ties(self, ties: Literal["order", "expected"]) -> "Policy":
        """Return the policy that breaks ties of scores in this way; itself if it has no ties."""
        del ties
        return self


class Ascent(Protocol):
    """The function that tells a model, in a step, in which direction to move its scores."""

    def __call__(self, scores: Floats) -> Floats:
        """Return the direction of ascent at the scores of the step's documents, ``[docs]``."""
        ...

    def curvature(self, scores: Floats) -> Floats | None:
        """Return :meth:`Ranker.curvature` at these scores, ``[docs]``; None if it has none."""
        ...


class Model(ABC):
    """Scores documents and learns. It has its own optimiser; its randomness comes from its seed.

    A model never changes an array that :meth:`state` has returned. Then an interrupted run resumes
    to the same bits.
    """

    whole: ClassVar[bool] = False
    """True if a step gets all training queries at once; otherwise it gets a few."""

    @abstractmethod
    def scores(self, documents: Documents) -> Floats:
        """Return the scores of the documents of whole lists, ``[docs]``. Change nothing."""

    @abstractmethod
    def step(self, documents: Documents, ascent: Ascent) -> None:
        """Make one step: score the documents once, call ``ascent`` with the scores, and follow it.

        Args:
            documents: documents of whole lists. With ``whole`` every step of a training gets the
                same object.
            ascent: function from scores to the direction in which the objective rises.
        """

    @abstractmethod
    def state(self) -> State:
        """Return everything that :meth:`scores` depends on, as arrays by name."""

    @abstractmethod
    def load_state(self, state: State) -> None:
        """Load a state of :meth:`state`; raise KeyError or ValueError if it does not fit."""

    def training_state(self) -> State:
        """Return what further steps also depend on, such as moments and the number of steps."""
        return {}

    def load_training_state(self, state: State) -> None:
        """Load a state of :meth:`training_state`."""
        del state

    def start_from(self, documents: Documents, queries: Booleans) -> None:
        """Imitate production's scores as closely as the model can, before the first step.

        Args:
            documents: all documents of the data set, with production's scores.
            queries: True for training queries whose production scores are known, ``[queries]``.
        """
        del documents, queries
        raise UnsupportedError("this model cannot start from production; use --init random")
