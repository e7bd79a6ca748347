r"""The contracts: what a click model, a reward, an estimator, a ranker, a scorer, a reader must do.

Every method of the field maximises a function of the expected metric weights :math:`\omega(d|q)`:

.. math:: U(\pi) = \sum_q \tfrac{N_q}{N} \sum_d \text{gain}(\omega_d, \omega_{0,d}, \mu_d)
          - \text{penalty}\Big(\sum_q \tfrac{N_q}{N} \sum_d \text{divergence}(\omega_d)\Big)

A **reward function** makes :math:`\mu` from clicks, an **estimator** is the gain, a **ranker**
turns the gain's slopes into gradients of scores, a **scorer** builds the model that is trained, a
**click model** says how people click. Subclass, give it a ``name``, return the class from a hook
(``cltr.hookspecs``); ``cltr.testing`` checks the rest.

What a component can do beyond the least is a contract of its own, and so a base class:
``Fittable`` click models, ``Penalised`` and ``Enforced`` estimators, and what gives every query a
policy of its own, ``PerQuery``. A question that a component cannot answer is answered with None.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltr.derivatives import derivative, tensors
from cltr.documents import Batch, ModelSetup
from cltr.errors import PluginError, UnsupportedError
from cltr.models import Ascent as Ascent  # noqa: PLC0414  # part of this page
from cltr.models import Model as Model  # noqa: PLC0414
from cltr.models import Policy as Policy  # noqa: PLC0414
from cltr.options import Options
from cltr.types import (
    Affine,
    Booleans,
    ClickData,
    ClickLog,
    ClickStatistics,
    Dataset,
    Exposure,
    Floats,
    Lists,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from cltr.clicks.fit_tools import Parameters

API_VERSION = "1.0"
"""Of these contracts. A plugin may say ``requires_api = "1.0"``; see docs/plugins.md."""


class Component:
    """What all contracts share: a name that users type, and options that are checked."""

    name: ClassVar[str]

    class Options(Options):
        """No options."""

    options: Any
    """Checked; a component with options of its own says ``options: "Mine.Options"``."""

    def __init__(self, **options: Any) -> None:
        self.options = self.Options.parse(options, owner=self.name)

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in self.options)
        return f"{type(self).__name__}({shown})"


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


Assumption: TypeAlias = Literal["click model", "propensities", "judgements"]
"""What must be right for a reward to be: the values of the click model, the propensities."""


class RewardFunction(Component, ABC):
    r"""Clicks to one relevance estimate :math:`\mu(d)` per document. Plain numpy."""

    assumes: ClassVar[frozenset[Assumption]] = frozenset({"click model", "propensities"})
    """What mu rests on. With ``click model`` in it, held-out clicks test the click model. Without
    it and ``judgements`` nothing tests mu, so a run learns in a narrow band only."""
    variance_factor: ClassVar[float | None] = None
    r"""s in :math:`Var \le s \sum_d v_d \omega_d^2 / \rho_{0,d}^2`; None: no bound is known."""

    def fit(self, data: ClickData, click_model: ClickModel, *, seed: int = 0) -> None:
        """Learn from training clicks what is shared between queries."""
        del data, click_model, seed

    @abstractmethod
    def mu(self, data: ClickData, *, propensity_clip: float = 0.0) -> Floats:
        r"""The estimates, ``[docs]``.

        Args:
            data: training clicks, or validation clicks of other queries.
            propensity_clip: lower limit :math:`\tau` on :math:`\rho_0`; 0 on validation clicks.
        """


@dataclass(frozen=True)
class EstimatorContext:
    """What an estimator may want to know before training."""

    n_interactions: int
    rank_weights: Floats
    """Metric weight of each rank, ``[K]``."""
    metric: str
    click_model: ClickModel
    n_queries: int = 0
    """Training queries with interactions; 0 if unknown."""
    narrow: bool = False
    """Whether something about the log is in doubt, so that only small moves are wanted."""


Guarantee: TypeAlias = Literal["none", "incentive", "enforced"]
"""What an estimator promises, whatever the rewards are.

``none``: nothing. ``incentive``: moving a document further than a bound is not rewarded, but it may
happen. ``enforced``: what is served keeps the bound (:class:`Enforced`).
"""


class Estimator(Component, ABC):
    """A function of the expected weights, separable over documents; wraps any reward function.

    ``gain`` is elementwise and broadcasts; write it with operators and methods that numpy and torch
    share, and its slope comes by autograd. Override the slope to give a closed form.
    """

    guarantee: ClassVar[Guarantee] = "none"
    """What it promises; advice and reports are built from this, never from its name."""

    def __init__(self, reward: RewardFunction | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.reward = reward
        for method, contract in (("penalty", Penalised), ("served_share", Enforced)):
            if hasattr(self, method) and not isinstance(self, contract):  # it would not be asked
                raise PluginError(
                    f"estimator '{self.name}' defines {method}, so it must be a subclass of "
                    f"cltr.interfaces.{contract.__name__}"
                )

    def prepare(self, context: EstimatorContext) -> None:
        """Resolve what depends on the data, such as schedules of N."""
        del context

    @abstractmethod
    def gain(self, weights: Any, logging_weights: Any, rewards: Any) -> Any:
        r"""What a document adds to the value: a function of :math:`\omega, \omega_0, \mu`."""

    def slope(self, weights: Floats, logging_weights: Floats, rewards: Floats) -> Floats:
        r""":math:`\partial\,\text{gain} / \partial \omega`, elementwise."""
        return derivative(lambda w: self.gain(w, *tensors(logging_weights, rewards)), weights)

    def kinks(self, logging_weights: Floats, rewards: Floats) -> Floats | None:
        r"""Weights at which the slope of each document's gain changes, rising, ``[docs, J]``.

        Between them the gain is linear. None if it is not, or if the kinks are not known: then
        nothing computes the exact optimum of the gain.
        """
        del logging_weights, rewards
        return None

    def diagnostics(
        self, weights: Floats, exposure: Exposure, rewards: Floats | None, lists: Lists
    ) -> Mapping[str, float]:
        r"""Numbers of its own on a policy, by name; none by default.

        Args:
            weights: :math:`\omega`, ``[docs]``.
            exposure: of production, on the same documents.
            rewards: :math:`\mu`, ``[docs]``; None where a policy is judged without clicks. Then
                only ``exposure.weights`` is known.
            lists: where each query's documents lie, end to end.
        """
        del weights, exposure, rewards, lists
        return {}


class Penalised(Estimator):
    """An estimator with a price on the mean divergence from the logging policy."""

    @abstractmethod
    def divergence(self, weights: Any, exposure: Exposure) -> Any:
        """What a document adds to the divergence; elementwise, numpy or torch."""

    def divergence_slope(self, weights: Floats, exposure: Exposure) -> Floats:
        r""":math:`\partial\,\text{divergence} / \partial \omega`, elementwise."""
        parts = tensors(exposure.weights, exposure.propensities, exposure.attention)
        return derivative(lambda w: self.divergence(w, Exposure(*parts)), weights)

    @abstractmethod
    def penalty(self, mean_divergence: float) -> float:
        """The price of the mean divergence over all logged interactions."""

    @abstractmethod
    def penalty_slope(self, mean_divergence: float) -> float:
        """Derivative of :meth:`penalty`."""


class Enforced(Estimator):
    """An estimator whose bound is kept by what is served: a mixture with production."""

    guarantee: ClassVar[Guarantee] = "enforced"

    @abstractmethod
    def served_share(self, weights: Floats, logging_weights: Floats, lists: Lists) -> Floats:
        r"""Largest share :math:`\lambda_q` of the new policy that keeps the bound, ``[queries]``.

        The rest of what is served is production.

        Args:
            weights: :math:`\omega` of the new policy, ``[docs]``.
            logging_weights: :math:`\omega_0`, ``[docs]``.
            lists: where each query's documents lie.
        """


@dataclass(frozen=True)
class QueryTask:
    r"""Queries that get a policy of their own, and what is known of their documents.

    Attributes:
        estimator: of the run.
        rewards: :math:`\mu`, ``[docs]``.
        logging_weights: :math:`\omega_0`, ``[docs]``.
        lists: where each query's documents lie, end to end.
        rank_weights: w, ``[K]``.
        traffic: P(q), ``[queries]``.
        each: whether a bound must hold for every query alone: the queries were not logged, so their
            traffic is not known.
    """

    estimator: Estimator
    rewards: Floats
    logging_weights: Floats
    lists: Lists
    rank_weights: Floats
    traffic: Floats
    each: bool = False


class PerQuery(ABC):
    """A ranker or an estimator that gives every query a policy of its own.

    The policy is stored as rankings with shares. The model that is trained beside it serves other
    queries; an estimator is asked for those too, with the rewards that documents at their rank by
    the model had on validation clicks.
    """

    @abstractmethod
    def query_weights(self, task: QueryTask) -> Floats:
        r"""Expected weights :math:`\omega` of each query's policy, ``[docs]``.

        Some distribution over rankings must have them: the m largest of a query add up to at most
        the m largest rank weights, all of them to the sum of all.
        """

    def kept(self, weights: Floats, task: QueryTask) -> bool:
        """Whether policies with these expected weights keep its bound; True if it has none.

        If not, as where production's weights are counted and cannot be had exactly, each query is
        mixed with production (:class:`Enforced`).
        """
        del weights, task
        return True


@dataclass(frozen=True)
class Objective:
    r"""The estimator, bound to a padded batch: all that a ranker needs to know.

    Attributes:
        weights: :math:`\omega` under the ranker's policy, ``[queries, docs]``.
        price: derivative of the penalty at the current mean divergence.
    """

    estimator: Estimator
    weights: Floats
    exposure: Exposure
    rewards: Floats
    price: float = 0.0

    @cached_property
    def slope(self) -> Floats:
        r""":math:`\partial U / \partial \omega(d)` at the current policy, ``[queries, docs]``."""
        slope = self.estimator.slope(self.weights, self.exposure.weights, self.rewards)
        if self.price and isinstance(self.estimator, Penalised):
            steepness = self.estimator.divergence_slope(self.weights, self.exposure)
            slope = slope - self.price * steepness
        return slope

    def gain(self, weights: Floats) -> Floats:
        """What each document would add at other weights, ``[queries, docs]``."""
        gain: Floats = self.estimator.gain(weights, self.exposure.weights, self.rewards)
        if self.price and isinstance(self.estimator, Penalised):
            gain = gain - self.price * self.estimator.divergence(weights, self.exposure)
        return gain


class Ranker(Component, ABC):
    """Slopes of documents to gradients of scores, for the policy that it trains."""

    policy: Policy

    def objection(self, estimator: Estimator) -> str | None:
        """Why it cannot maximise an estimator, and what to do; None if it can."""
        del estimator
        return None

    @abstractmethod
    def gradient(self, batch: Batch, objective: Objective, rng: np.random.Generator) -> Floats:
        """Direction in which to move the scores to raise the objective, ``[queries, docs]``.

        Args:
            batch: scores of some lists.
            objective: slope and gain of every document; 0 on padding.
            rng: for rankers that sample.
        """

    def curvature(self, batch: Batch, rng: np.random.Generator) -> Floats | None:
        r"""Estimate of :math:`\partial\omega_d/\partial s_d`, ``[queries, docs]``; None if unknown.

        It scales the steps of models that have no optimiser of their own, such as trees. An
        estimate may be negative: set it to a positive floor.
        """
        del batch, rng
        return None


class Scorer(Component, ABC):
    """Builds the model that scores documents."""

    needs_production: ClassVar[bool] = False
    """Whether its models read production's scores: they learn what to add to them."""

    @abstractmethod
    def build(self, setup: ModelSetup, *, seed: int) -> Model:
        """A new model; the same seed gives the same model."""


class LogReader(Component, ABC):
    """Reads a log from elsewhere as a table of what was shown and clicked, through duckdb.

    A reader says where things are; it reads nothing itself, so a log may be larger than memory.
    Counting, checking and splitting are the same for every log (``cltr.logs``).
    """

    @abstractmethod
    def select(self, connection: "DuckDBPyConnection", paths: Sequence[Path]) -> str:
        """A SQL query with a row for each document that was shown, or clicked.

        Its columns are ``query``, ``document``, ``position`` (from 1; NULL for a click on what was
        not shown) and ``click``; ``session``, the interaction that a row belongs to, unless rows
        are single impressions; where they are known ``score`` and ``propensity`` of the logging
        policy, ``user``, ``time``. All others are context. Ids are of any type.
        ``cltr.files.table_files`` opens files.

        Args:
            connection: to create views in, and to look into files.
            paths: files or folders, as the user gave them.
        """
