"""The contracts of rewards and estimators: relevance from clicks, and what training maximises."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

from cltr.contracts.click_models import ClickModel
from cltr.contracts.component import Component
from cltr.derivatives import derivative, tensors
from cltr.errors import PluginError
from cltr.types import ClickData, Exposure, Floats, Lists

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
