"""The contracts of click models: how users click on a list, and how that is fitted to a log."""

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
    """How people click on a list of K shown documents; ``probabilities`` is all it must have."""

    fitted: "Parameters | None" = None
    """What a fit found (:class:`Fittable`); its values stand in place of those of the options."""

    @abstractmethod
    def probabilities(self, relevance: Floats, context: Mapping[str, NDArray[Any]]) -> Floats:
        """Marginal click probabilities on shown lists, ``[interactions, K]``.

        Args:
            relevance: P(R=1) of the shown documents, ``[interactions, K]``; NaN where none is.
            context: the columns of :meth:`draw_context`, ``[interactions]`` each.
        """

    def conditional_probabilities(
        self, relevance: Floats, clicks: Booleans, context: Mapping[str, NDArray[Any]]
    ) -> Floats | None:
        """Click probabilities given the clicks above, P(C_k=1 | C_<k), ``[interactions, K]``.

        None if they are not known: by default, for a model that draws clicks in its own way.
        """
        del clicks
        own_draws = type(self).sample is not ClickModel.sample
        return None if own_draws else self.probabilities(relevance, context)

    def draw_context(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Context columns (device, user, ...) of n simulated interactions; none by default."""
        del n, rng
        return {}

    def sample(
        self, relevance: Floats, context: Mapping[str, NDArray[Any]], rng: np.random.Generator
    ) -> Booleans:
        """Draw clicks, ``[interactions, K]``; independent given the list unless overridden."""
        return rng.random(relevance.shape) < self.probabilities(relevance, context)

    @property
    def independent(self) -> bool:
        """Whether clicks are independent given the list, and need no context.

        Together with :meth:`affine` it allows to draw counts of clicks instead of interactions.
        """
        cls = type(self)
        return cls.sample is ClickModel.sample and cls.draw_context is ClickModel.draw_context

    def affine(self, top_k: int) -> Affine | None:
        r"""Examination :math:`\alpha` and trust :math:`\beta` by rank; None if not affine."""
        del top_k
        return None

    def require_affine(self, top_k: int) -> Affine:
        """Examination and trust by rank, for what cannot do without; one clear error if None."""
        found = self.affine(top_k)
        if found is None:
            raise UnsupportedError(
                f"click model '{self.name}' gives no examination and trust for {top_k} ranks (it "
                "is not affine in relevance), so the rewards ips, snips, dr, dm and the metric "
                "'clicks' cannot use it; use --reward click-model or --reward naive"
            )
        return found


class Fittable(ClickModel):
    """A click model that learns from a log: it counts chunk by chunk, and is fitted to the sum."""

    needs_sessions: ClassVar[bool] = False
    """Whether :meth:`count` needs the interactions: clicks and impressions by rank do not do."""

    def count(self, chunk: ClickLog, offsets: NDArray[np.int64]) -> Any:
        """What fitting needs of a chunk; counts of several chunks add up with ``+``.

        Clicks and impressions by document and rank (``ClickStatistics``) by default; a model that
        counts something else declares ``needs_sessions``.
        """
        return ClickStatistics.count(chunk, offsets)

    @abstractmethod
    def fit(self, counts: Any, dataset: Dataset | None = None) -> "Parameters":
        """Learn from (sums of) counts; kept in ``fitted`` and returned.

        Args:
            counts: sums of what :meth:`count` gave.
            dataset: the lists that were counted, where they are known: their ids, and their
                features for relevance by regression.
        """

    def infer(self, counts: Any, dataset: Dataset | None = None) -> Floats | None:
        """Relevance of the documents of other counts, ``[docs]``: what lists share stays as is.

        None if the model only knows the documents that it was fitted to.
        """
        del counts, dataset
        return None

    def relevance(self, dataset: Dataset | None = None) -> Floats:
        """Relevance estimates of a fitted model, ``[docs]``.

        Args:
            dataset: whose documents, matched by query and document id, or from their features
                where relevance is a regression; those that were counted if None.
        """
        if self.fitted is None:
            raise UnsupportedError(
                f"click model '{self.name}' has no relevance estimates; fit one first"
            )
        return self.document_relevance(self.fitted.tables(dataset))

    def document_relevance(self, tables: Mapping[str, Floats]) -> Floats:
        """Relevance from the fitted numbers of documents; ``relevance`` itself by default."""
        return tables["relevance"]

    def predict(self, chunk: ClickLog) -> Floats:
        """Marginal click probabilities of logged lists under the fit, ``[interactions, K]``."""
        return self.probabilities(chunk.shown(self.relevance()), chunk.context)

    def predict_given_clicks(self, chunk: ClickLog) -> Floats:
        """Click probabilities given the clicks above under the fit, ``[interactions, K]``."""
        shown = chunk.shown(self.relevance())
        found = self.conditional_probabilities(shown, chunk.clicks, chunk.context)
        if found is None:
            raise UnsupportedError(
                f"click model '{self.name}' draws clicks that depend on each other, but does not "
                "define conditional_probabilities, so likelihoods cannot be computed"
            )
        return found
