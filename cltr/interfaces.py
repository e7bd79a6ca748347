r"""The contracts: what a click model, a reward, an estimator, a ranker, a scorer, a reader must do.

Every method of the field maximises a function of the expected metric weights :math:`\omega(d|q)`:

.. math:: U(\pi) = \sum_q \tfrac{N_q}{N} \sum_d \text{gain}(\omega_d, \omega_{0,d}, \mu_d)
          - \text{penalty}\Big(\sum_q \tfrac{N_q}{N} \sum_d \text{divergence}(\omega_d)\Big)

A **reward function** makes :math:`\mu` from clicks, an **estimator** is the gain, a **ranker**
turns the gain's slopes into gradients of scores, a **scorer** builds the model that is trained, a
**click model** says how people click, a **log reader** reads a log. To write one, subclass a class
of this page, give it a ``name``, and return the class from a hook (``cltr.hookspecs``);
``cltr.testing`` checks the rest. All names can be imported from here:

* :class:`Ranker`, :class:`Scorer` and :class:`LogReader` are defined below;
* :class:`ClickModel`, and :class:`Fittable` for one that can be fitted, in
  ``cltr.contracts.click_models``;
* :class:`RewardFunction`, :class:`Estimator` and :class:`Objective` in
  ``cltr.contracts.estimators``, with what an estimator can do beyond the least:
  :class:`Penalised`, :class:`Enforced` and :class:`PerQuery`;
* :class:`Model` and :class:`Policy` in ``cltr.models``; :class:`Component`, which all share, in
  ``cltr.contracts.component``.

A method that a component cannot answer returns None.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cltr.contracts.click_models import ClickModel as ClickModel  # noqa: PLC0414
from cltr.contracts.click_models import Fittable as Fittable  # noqa: PLC0414
from cltr.contracts.component import Component as Component  # noqa: PLC0414
from cltr.contracts.estimators import Assumption as Assumption  # noqa: PLC0414
from cltr.contracts.estimators import Enforced as Enforced  # noqa: PLC0414
from cltr.contracts.estimators import Estimator as Estimator  # noqa: PLC0414
from cltr.contracts.estimators import EstimatorContext as EstimatorContext  # noqa: PLC0414
from cltr.contracts.estimators import Guarantee as Guarantee  # noqa: PLC0414
from cltr.contracts.estimators import Objective as Objective  # noqa: PLC0414
from cltr.contracts.estimators import Penalised as Penalised  # noqa: PLC0414
from cltr.contracts.estimators import PerQuery as PerQuery  # noqa: PLC0414
from cltr.contracts.estimators import QueryTask as QueryTask  # noqa: PLC0414
from cltr.contracts.estimators import RewardFunction as RewardFunction  # noqa: PLC0414
from cltr.documents import Batch, ModelSetup
from cltr.models import Ascent as Ascent  # noqa: PLC0414
from cltr.models import Model as Model  # noqa: PLC0414
from cltr.models import Policy as Policy  # noqa: PLC0414
from cltr.types import Floats

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

API_VERSION = "1.0"
"""Of these contracts. A plugin may say ``requires_api = "1.0"``; see docs/plugins.md."""


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
