"""The contracts of click models: how users click on a list, and how a model is fitted to a log."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cltr.contracts.component import Component
from cltr.errors import UnsupportedError
from cltr.types import Affine, Booleans, ClickLog, ClickStatistics, Dataset, Floats

if TYPE_CHECKING:
    from cltr.clicks.fit_tools import Parameters


class ClickModel(Component, ABC):
    """Describes how users click on a list of K documents.

    ``probabilities`` is the only method that a click model must define. Define ``affine`` as well
    if click probabilities are affine in relevance: ``ips``, ``dr`` and ``safe`` need it. Override
    ``sample`` if the clicks on one list depend on each other, and ``draw_context`` if users differ.
    """

    fitted: "Parameters | None" = None
    """The values that a fit found (:class:`Fittable`). They replace the values of the options."""

    @abstractmethod
    def probabilities(self, relevance: Floats, context: Mapping[str, NDArray[Any]]) -> Floats:
        """Return the probability of a click at each rank, ``[interactions, K]``.

        Args:
            relevance: P(R=1) of each shown document, ``[interactions, K]``. NaN means that nothing
                is shown at this rank.
            context: the columns of :meth:`draw_context`, ``[interactions]`` each.
        """

    def conditional_probabilities(
        self, relevance: Floats, clicks: Booleans, context: Mapping[str, NDArray[Any]]
    ) -> Floats | None:
        """Return click probabilities given the clicks above, P(C_k=1 | C_<k).

        The shape is ``[interactions, K]``. By default the result is None if the model overrides
        :meth:`sample`, and :meth:`probabilities` otherwise.
        """
        del clicks
        own_draws = type(self).sample is not ClickModel.sample
        return None if own_draws else self.probabilities(relevance, context)

    def draw_context(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Return context columns (device, user, ...) of n interactions; none by default."""
        del n, rng
        return {}

    def sample(
        self, relevance: Floats, context: Mapping[str, NDArray[Any]], rng: np.random.Generator
    ) -> Booleans:
        """Draw clicks, ``[interactions, K]``. By default they are independent given the list."""
        return rng.random(relevance.shape) < self.probabilities(relevance, context)

    @property
    def independent(self) -> bool:
        """True if clicks are independent given the list and need no context.

        If such a model also has :meth:`affine`, cltr draws click counts instead of interactions.
        """
        cls = type(self)
        return cls.sample is ClickModel.sample and cls.draw_context is ClickModel.draw_context

    def affine(self, top_k: int) -> Affine | None:
        r"""Return examination :math:`\alpha` and trust :math:`\beta` by rank, or None."""
        del top_k
        return None

    def require_affine(self, top_k: int) -> Affine:
        """Return examination and trust by rank; raise a one-line error if there are none."""
        found = self.affine(top_k)
        if found is None:
            raise UnsupportedError(
                f"click model '{self.name}' gives no examination and trust for {top_k} ranks (it "
                "is not affine in relevance), so the rewards ips, snips, dr, dm and the metric "
                "'clicks' cannot use it; use --reward click-model or --reward naive"
            )
        return found


class Fittable(ClickModel):
    """A click model that can be fitted: it counts each chunk of a log and is fitted to the sum."""

    needs_sessions: ClassVar[bool] = False
    """True if :meth:`count` needs single interactions, not only clicks and impressions by rank."""

    def count(self, chunk: ClickLog, offsets: NDArray[np.int64]) -> Any:
        """Return what fitting needs from a chunk. Counts of several chunks are added with ``+``.

        By default these are clicks and impressions by document and rank (``ClickStatistics``). A
        model that counts something else sets ``needs_sessions = True``.
        """
        return ClickStatistics.count(chunk, offsets)

    @abstractmethod
    def fit(self, counts: Any, dataset: Dataset | None = None) -> "Parameters":
        """Fit the model to counts. Set ``fitted`` to the result and return it.

        Args:
            counts: the sum of what :meth:`count` returned.
            dataset: the counted lists with ids and features, if they are known. A model that
                predicts relevance from features needs them.
        """

    def infer(self, counts: Any, dataset: Dataset | None = None) -> Floats | None:
        """Return relevance estimates from other counts, ``[docs]``, with the fitted values kept.

        None means that the model knows only the documents that it was fitted to.
        """
        del counts, dataset
        return None

    def relevance(self, dataset: Dataset | None = None) -> Floats:
        """Return the relevance estimates of a fitted model, ``[docs]``.

        Args:
            dataset: the documents to return. They are matched by query and document id, or scored
                by their features if the model predicts relevance from features. None returns the
                documents that were counted.
        """
        if self.fitted is None:
            raise UnsupportedError(
                f"click model '{self.name}' has no relevance estimates; fit one first"
            )
        return self.document_relevance(self.fitted.tables(dataset))

    def document_relevance(self, tables: Mapping[str, Floats]) -> Floats:
        """Compute relevance from the fitted values of documents; by default it is one of them."""
        return tables["relevance"]

    def predict(self, chunk: ClickLog) -> Floats:
        """Return the fitted click probabilities of logged lists, ``[interactions, K]``."""
        return self.probabilities(chunk.shown(self.relevance()), chunk.context)

    def predict_given_clicks(self, chunk: ClickLog) -> Floats:
        """Return the fitted click probabilities given the clicks above, ``[interactions, K]``."""
        shown = chunk.shown(self.relevance())
        found = self.conditional_probabilities(shown, chunk.clicks, chunk.context)
        if found is None:
            raise UnsupportedError(
                f"click model '{self.name}' draws clicks that depend on each other, but does not "
                "define conditional_probabilities, so likelihoods cannot be computed"
            )
        return found
