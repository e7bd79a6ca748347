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
"""What must be right for the estimates of a reward to be right."""


class RewardFunction(Component, ABC):
    r"""Estimates the relevance :math:`\mu(d)` of each document from clicks. It needs numpy only.

    To divide by propensities, call ``data.exposure.inverse_propensities(examined,
    propensity_clip=...)`` with ``examined = data.statistics.average(examination)``.
    """

    assumes: ClassVar[frozenset[Assumption]] = frozenset({"click model", "propensities"})
    """What must be right for ``mu`` to be right. If ``click model`` is in the set, cltr tests the
    click model on held-out clicks. If neither it nor ``judgements`` is, nothing tests ``mu``: then
    ``cltr train`` learns in a narrow band and never says deploy by this reward's estimate."""
    needs_affine: ClassVar[bool] = False
    """Whether it needs examination and trust by rank. If so, ``cltr train`` refuses click models
    without them before any work."""
    variance_factor: ClassVar[float | None] = None
    r"""s in :math:`Var \le s \sum_d v_d \omega_d^2 / \rho_{0,d}^2`. None means that no bound is
    proven; then ``safe`` refuses the reward."""
    fits_in_threads: ClassVar[bool] = False
    """Whether threads may call ``fit`` of several rewards at the same time. Then ``fit`` must not
    use anything that they share, such as torch's random numbers or parallel code of numba."""

    def fit(self, data: ClickData, click_model: ClickModel, *, seed: int = 0) -> None:
        """Learn what all queries share from the training clicks; nothing by default.

        Args:
            data: the training clicks.
            click_model: ``click_model.require_affine(top_k)`` gives examination and trust.
            seed: seed of random numbers.
        """
        del data, click_model, seed

    @abstractmethod
    def mu(self, data: ClickData, *, propensity_clip: float = 0.0) -> Floats:
        r"""Return one relevance estimate for each document, ``[docs]``.

        Args:
            data: training clicks, or validation or test clicks of other queries. It has
                ``dataset``, ``statistics`` (clicks and impressions) and ``exposure``.
            propensity_clip: lower limit :math:`\tau` on :math:`\rho_0`; 0 except on training
                clicks.
        """


@dataclass(frozen=True)
class EstimatorContext:
    """What :meth:`Estimator.prepare` is told before training."""

    n_interactions: int
    rank_weights: Floats
    """Metric weight of each rank, ``[K]``."""
    metric: str
    click_model: ClickModel
    n_queries: int = 0
    """Training queries with interactions; 0 if unknown."""
    narrow: bool = False
    """True if a health check left a doubt about the log, so that only small moves are wanted."""


Guarantee: TypeAlias = Literal["none", "incentive", "enforced"]
"""What an estimator guarantees, whatever the rewards are.

``none``: nothing. ``incentive``: moving a document further than a bound is not rewarded, but it may
happen. ``enforced``: the served policy keeps the bound (:class:`Enforced`).
"""


class Estimator(Component, ABC):
    """The objective that training maximises: a sum over documents; works with any reward.

    ``gain`` is elementwise and broadcasts. Write it with operators and methods that both numpy and
    torch have; then cltr computes its slope by autograd. Override ``slope`` for a closed form.
    """

    guarantee: ClassVar[Guarantee] = "none"
    """What it guarantees. Advice and reports use this value, never the estimator's name."""

    def __init__(self, reward: RewardFunction | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.reward = reward
        for method, contract in (("penalty", Penalised), ("served_share", Enforced)):
            if hasattr(self, method) and not isinstance(self, contract):  # it would not be asked
                raise PluginError(
                    f"estimator '{self.name}' defines {method}, so it must be a subclass of "
                    f"cltr.interfaces.{contract.__name__}"
                )

    def objection(self, metric: str) -> str | None:
        """Return why it cannot be trained for a metric and what to do; None if it can."""
        del metric
        return None

    def prepare(self, context: EstimatorContext) -> None:
        """Compute what depends on the data, such as a clip that depends on N."""
        del context

    @abstractmethod
    def gain(self, weights: Any, logging_weights: Any, rewards: Any) -> Any:
        r"""Return what each document adds to the objective, from :math:`\omega, \omega_0, \mu`."""

    def slope(self, weights: Floats, logging_weights: Floats, rewards: Floats) -> Floats:
        r"""Return :math:`\partial\,\text{gain} / \partial \omega`, elementwise."""
        return derivative(lambda w: self.gain(w, *tensors(logging_weights, rewards)), weights)

    def kinks(self, logging_weights: Floats, rewards: Floats) -> Floats | None:
        r"""Return the weights at which the slope of the gain changes, ascending, ``[docs, J]``.

        Between two of them the gain is linear. ``--ranker optimum`` needs them to compute the exact
        optimum. None means that the gain is not piecewise linear, or that they are not known.
        """
        del logging_weights, rewards
        return None

    def diagnostics(
        self, weights: Floats, exposure: Exposure, rewards: Floats | None, lists: Lists
    ) -> Mapping[str, float]:
        r"""Return numbers about a policy, by name, which results show; none by default.

        Args:
            weights: :math:`\omega`, ``[docs]``.
            exposure: exposure by production of the same documents.
            rewards: :math:`\mu`, ``[docs]``. None if a policy is judged without clicks; then only
                ``exposure.weights`` is known.
            lists: start and length of each query's list of documents.
        """
        del weights, exposure, rewards, lists
        return {}


class Penalised(Estimator):
    """An estimator that subtracts a penalty on the mean divergence from production."""

    @abstractmethod
    def divergence(self, weights: Any, exposure: Exposure) -> Any:
        """Return what each document adds to the divergence; elementwise, numpy or torch."""

    def divergence_slope(self, weights: Floats, exposure: Exposure) -> Floats:
        r"""Return :math:`\partial\,\text{divergence} / \partial \omega`, elementwise."""
        parts = tensors(exposure.weights, exposure.propensities, exposure.attention)
        return derivative(lambda w: self.divergence(w, Exposure(*parts)), weights)

    @abstractmethod
    def penalty(self, mean_divergence: float) -> float:
        """Return the penalty for a mean divergence over all logged interactions."""

    @abstractmethod
    def penalty_slope(self, mean_divergence: float) -> float:
        """Return the derivative of :meth:`penalty`."""


class Enforced(Estimator):
    """An estimator whose bound always holds, because the new policy is mixed with production."""

    guarantee: ClassVar[Guarantee] = "enforced"

    @abstractmethod
    def served_share(self, weights: Floats, logging_weights: Floats, lists: Lists) -> Floats:
        r"""Return the largest share of the new policy that keeps the bound, ``[queries]``.

        The other :math:`1 - \lambda_q` of the requests get production's ranking.

        Args:
            weights: :math:`\omega` of the new policy, ``[docs]``.
            logging_weights: :math:`\omega_0`, ``[docs]``.
            lists: start and length of each query's list of documents.
        """


@dataclass(frozen=True)
class QueryTask:
    r"""The queries that get a policy of their own, and what is known about their documents.

    Attributes:
        estimator: the estimator of the run.
        rewards: :math:`\mu`, ``[docs]``.
        logging_weights: :math:`\omega_0`, ``[docs]``.
        lists: start and length of each query's list of documents.
        rank_weights: metric weight of each rank, ``[K]``.
        traffic: share of each query in the traffic, ``[queries]``.
        each: True if a bound must hold for every query alone, because the queries were not logged
            and their traffic is not known.
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

    The policy is stored as rankings with shares. The trained model serves all other queries. cltr
    asks an estimator for those queries too: then the reward of a document is the mean reward, on
    validation clicks, of documents that the model puts at the same rank.
    """

    @abstractmethod
    def query_weights(self, task: QueryTask) -> Floats:
        r"""Return the expected weights :math:`\omega` of each query's policy, ``[docs]``.

        A distribution over rankings must be able to have them: the m largest weights of a query
        add up to at most the m largest rank weights, and all of them to the sum of all.
        """

    def kept(self, weights: Floats, task: QueryTask) -> bool:
        """Return True if policies with these expected weights keep the bound, or if there is none.

        If False, cltr mixes each query's policy with production (:class:`Enforced`). This happens
        if production's weights are counted from a log, because they are not exact then.
        """
        del weights, task
        return True


@dataclass(frozen=True)
class Objective:
    r"""The estimator on one padded batch: all that a ranker needs to know.

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
        r"""The derivative :math:`\partial U / \partial \omega(d)` at the current policy.

        The shape is ``[queries, docs]``.
        """
        slope = self.estimator.slope(self.weights, self.exposure.weights, self.rewards)
        if self.price and isinstance(self.estimator, Penalised):
            steepness = self.estimator.divergence_slope(self.weights, self.exposure)
            slope = slope - self.price * steepness
        return slope

    def gain(self, weights: Floats) -> Floats:
        """Return what each document would add at other weights, ``[queries, docs]``."""
        gain: Floats = self.estimator.gain(weights, self.exposure.weights, self.rewards)
        if self.price and isinstance(self.estimator, Penalised):
            gain = gain - self.price * self.estimator.divergence(weights, self.exposure)
        return gain
