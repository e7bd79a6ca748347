r"""The contracts: what a click model, a reward, an estimator, a ranker, a scorer, a reader must do.

Every method of the field maximises a function of the expected metric weights :math:`\omega(d|q)`:

.. math:: U(\pi) = \sum_q \tfrac{N_q}{N} \sum_d \text{gain}(\omega_d, \omega_{0,d}, \mu_d)
          - \text{penalty}\Big(\sum_q \tfrac{N_q}{N} \sum_d \text{divergence}(\omega_d)\Big)

A **reward function** makes :math:`\mu` from clicks, an **estimator** is the gain, a **ranker**
turns the gain's slopes into gradients of scores, a **click model** says how people click. Subclass,
give it a ``name``, return the class from a hook (``cltr.hookspecs``); ``cltr.testing`` checks the
rest.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltr.errors import UnsupportedError
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
    import torch
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
    """How people click on a list of K shown documents.

    ``probabilities`` is all that a model must have. What a model cannot do (it only simulates, it
    is not affine, it has fixed values) raises one clear error. A model that can be fitted counts
    what it needs of a log, chunk by chunk, and keeps what it learned in ``fitted``.
    """

    fitted: "Parameters | None" = None
    """What :meth:`fit` found; its values then stand in place of those of the options."""

    @abstractmethod
    def probabilities(self, relevance: Floats, context: Mapping[str, NDArray[Any]]) -> Floats:
        """Marginal click probabilities on shown lists, ``[interactions, K]``.

        Args:
            relevance: P(R=1) of the shown documents, ``[interactions, K]``; NaN where none is.
            context: the columns of :meth:`draw_context`, ``[interactions]`` each.
        """

    def conditional_probabilities(
        self, relevance: Floats, clicks: Booleans, context: Mapping[str, NDArray[Any]]
    ) -> Floats:
        """Click probabilities given the clicks above, P(C_k=1 | C_<k), ``[interactions, K]``."""
        del clicks
        if type(self).sample is not ClickModel.sample:
            raise UnsupportedError(
                f"click model '{self.name}' draws clicks that depend on each other, but does not "
                "define conditional_probabilities, so likelihoods cannot be computed"
            )
        return self.probabilities(relevance, context)

    def log_likelihood(
        self, relevance: Floats, clicks: Booleans, context: Mapping[str, NDArray[Any]]
    ) -> Floats:
        """Of each click or none given those above, ``[interactions, K]``; 0 where none is shown.

        The chain rule: summed over ranks it is the log-likelihood of an interaction.
        """
        expected = self.conditional_probabilities(relevance, clicks, context)
        return log_probability(expected, clicks, ~np.isnan(relevance))

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

    def affine(self, top_k: int) -> Affine:
        r"""Examination :math:`\alpha` and trust :math:`\beta` by rank, if clicks are affine."""
        raise UnsupportedError(
            f"click model '{self.name}' is not affine in relevance over {top_k} ranks, so the "
            "rewards ips, snips, dr, dm and the metric 'clicks' cannot use it; "
            "use --reward click-model or naive"
        )

    @property
    def needs_sessions(self) -> bool:
        """Whether fitting needs the interactions: clicks and impressions by rank do not do."""
        return type(self).count is not ClickModel.count

    def count(self, chunk: ClickLog, offsets: NDArray[np.int64]) -> Any:
        """What fitting needs of a chunk; counts of several chunks add up with ``+``.

        Clicks and impressions by document and rank (``ClickStatistics``) by default.
        """
        return ClickStatistics.count(chunk, offsets)

    def fit(self, counts: Any, dataset: Dataset | None = None) -> "Parameters":
        """Learn from (sums of) counts; kept in ``fitted`` and returned.

        Args:
            counts: sums of what :meth:`count` gave.
            dataset: the lists that were counted, where they are known: their ids, and their
                features for relevance by regression.
        """
        del counts, dataset
        raise UnsupportedError(f"click model '{self.name}' cannot be fitted; it has fixed values")

    def infer(self, counts: Any, dataset: Dataset | None = None) -> Floats:
        """Relevance of the documents of other counts, ``[docs]``: what lists share stays as is."""
        del counts, dataset
        raise UnsupportedError(
            f"click model '{self.name}' cannot estimate relevance from other clicks"
        )

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
        return self.probabilities(_shown(self.relevance(), chunk), chunk.context)

    def predict_given_clicks(self, chunk: ClickLog) -> Floats:
        """Click probabilities given the clicks above under the fit, ``[interactions, K]``."""
        shown = _shown(self.relevance(), chunk)
        return self.conditional_probabilities(shown, chunk.clicks, chunk.context)


def log_probability(expected: Floats, clicks: Booleans, shown: Booleans) -> Floats:
    """Log-probability of what came, click or none; 0 where nothing was shown.

    Example:
        >>> log_probability(np.array([0.25, 1.0]), np.array([True, False]), np.ones(2, bool))
        array([-1.38629436,        -inf])
    """
    with np.errstate(divide="ignore"):
        logs = np.where(clicks, np.log(expected), np.log1p(-np.minimum(expected, 1.0)))
    return np.where(shown, logs, 0.0)


def _shown(values: Floats, chunk: ClickLog) -> Floats:
    return np.where(chunk.documents >= 0, values[chunk.documents], np.nan)


class RewardFunction(Component, ABC):
    r"""Clicks to one relevance estimate :math:`\mu(d)` per document. Plain numpy."""

    variance_factor: ClassVar[float | None] = None
    r"""s in :math:`Var \le s \sum_d v_d \omega_d^2 / \rho_{0,d}^2`; None: no bound is known."""
    corrects_bias: ClassVar[bool] = True
    """Whether mu is wrong if the assumed examination and trust are: then clicks test them."""

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


Guarantee: TypeAlias = Literal["none", "incentive", "enforced"]
"""What an estimator promises, whatever the rewards are.

``none``: nothing. ``incentive``: moving a document further than a bound is not rewarded, but it may
happen. ``enforced``: what is served keeps the bound.
"""


class Estimator(Component, ABC):
    """A function of the expected weights, separable over documents; wraps any reward function.

    ``gain`` and ``divergence`` are elementwise and broadcast; write them with operators and methods
    that numpy and torch share, and slopes come by autograd. Override a slope to give a closed form.
    """

    guarantee: ClassVar[Guarantee] = "none"
    """What it promises; advice and reports are built from this, never from its name."""

    def __init__(self, reward: RewardFunction | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.reward = reward

    def prepare(self, context: EstimatorContext) -> None:
        """Resolve what depends on the data, such as schedules of N."""
        del context

    @abstractmethod
    def gain(self, weights: Any, logging_weights: Any, rewards: Any) -> Any:
        r"""What a document adds to the value: a function of :math:`\omega, \omega_0, \mu`."""

    def slope(self, weights: Floats, logging_weights: Floats, rewards: Floats) -> Floats:
        r""":math:`\partial\,\text{gain} / \partial \omega`, elementwise."""
        return _derivative(lambda w: self.gain(w, *_tensors(logging_weights, rewards)), weights)

    def divergence(self, weights: Any, exposure: Exposure) -> Any:
        """What a document adds to the divergence from the logging policy; 0 by default."""
        del exposure
        return weights * 0.0

    def divergence_slope(self, weights: Floats, exposure: Exposure) -> Floats:
        r""":math:`\partial\,\text{divergence} / \partial \omega`, elementwise."""
        parts = _tensors(exposure.weights, exposure.propensities, exposure.attention)
        return _derivative(lambda w: self.divergence(w, Exposure(*parts)), weights)

    def penalty(self, mean_divergence: float) -> float:
        """The price of the mean divergence over all logged interactions; 0 by default."""
        del mean_divergence
        return 0.0

    def penalty_slope(self, mean_divergence: float) -> float:
        """Derivative of :meth:`penalty`; 0 by default."""
        del mean_divergence
        return 0.0

    @property
    def penalised(self) -> bool:
        """Whether there is a penalty at all (the loop then keeps the mean divergence)."""
        return type(self).penalty is not Estimator.penalty

    def outside(self, weights: Floats, logging_weights: Floats) -> Booleans | None:
        """Which documents lie outside the estimator's band; None if it has none."""
        del weights, logging_weights
        return None

    def unsupported(self, weights: Floats, exposure: Exposure) -> Booleans | None:
        """Which documents get weight although the estimator's bound leaves them out; or None."""
        del weights, exposure
        return None

    def served_share(self, weights: Floats, logging_weights: Floats, lists: Lists) -> Floats:
        r"""Share :math:`\lambda_q` of the new policy in what is served; the rest is production.

        1 unless the estimator enforces a bound.
        """
        del weights, logging_weights
        return np.ones(len(lists.lengths))


class Policy(Protocol):
    """A distribution over rankings, given scores; flat or padded arrays alike (see ``Lists``)."""

    @property
    def name(self) -> str:
        """What results call it."""
        ...

    def expected_weights(self, scores: Floats, lists: Lists, rank_weights: Floats) -> Floats:
        r""":math:`\omega`: each document's expected rank weight, in the layout of ``scores``."""
        ...

    def rank_distribution(self, scores: Floats, lists: Lists, top_k: int) -> Floats:
        """P(rank(d) = k), ``[..., docs, K]``."""
        ...


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
        if self.price:
            steepness = self.estimator.divergence_slope(self.weights, self.exposure)
            slope = slope - self.price * steepness
        return slope

    def gain(self, weights: Floats) -> Floats:
        """What each document would add at other weights, ``[queries, docs]``."""
        gain: Floats = self.estimator.gain(weights, self.exposure.weights, self.rewards)
        if self.price:
            gain = gain - self.price * self.estimator.divergence(weights, self.exposure)
        return gain


class Ranker(Component, ABC):
    """Slopes of documents to gradients of scores, for the policy that it trains."""

    policy: Policy

    @abstractmethod
    def gradient(
        self,
        scores: Floats,
        mask: Booleans,
        rank_weights: Floats,
        objective: Objective,
        rng: np.random.Generator,
    ) -> Floats:
        """Direction in which to move the scores to raise the objective, ``[queries, docs]``.

        Args:
            scores: ``[queries, docs]``, float64; -inf on padding.
            mask: True for real documents; padding comes last in each row.
            rank_weights: metric weight of each rank, ``[K]``; lists may be shorter than K.
            objective: slope and gain of every document; 0 on padding.
            rng: for rankers that sample.
        """


class Scorer(Component, ABC):
    """A model that gives every document a score."""

    @abstractmethod
    def build(self, n_features: int, n_documents: int) -> "torch.nn.Module":
        """A module from features ``[docs, features]`` and row numbers ``[docs]`` to ``[docs]``."""

    def copy_scores(self, module: "torch.nn.Module", scores: Floats) -> bool:
        """Make the module give these scores to all documents at once, if it can; else False."""
        del module, scores
        return False


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


def _tensors(*arrays: Any) -> tuple[Any, ...]:
    import torch

    return tuple(torch.as_tensor(array) for array in arrays)


def _derivative(function: Any, at: Floats) -> Floats:
    """Elementwise derivative by autograd; a function that ignores its input has slope 0."""
    import torch

    point = torch.as_tensor(np.array(at, dtype=np.float64)).requires_grad_()
    value = function(point).sum()
    if not value.requires_grad:
        return np.zeros_like(at)
    (slope,) = torch.autograd.grad(value, point)
    result: Floats = slope.numpy()
    return result
