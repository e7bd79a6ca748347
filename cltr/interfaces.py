r"""The contracts: the methods that each kind of component must have.

Every method maximises a function of the expected metric weights :math:`\omega(d|q)`:

.. math:: U(\pi) = \sum_q \tfrac{N_q}{N} \sum_d \text{gain}(\omega_d, \omega_{0,d}, \mu_d)
          - \text{penalty}\Big(\sum_q \tfrac{N_q}{N} \sum_d \text{divergence}(\omega_d)\Big)

A **reward** estimates :math:`\mu` from clicks, an **estimator** defines the gain, a **ranker**
turns the slopes of the gain into gradients of scores, a **scorer** builds the model that is
trained, a **click model** describes how users click, and a **log reader** reads a log. To write
one, subclass its contract, give it a ``name``, and return the class from a hook
(``cltr.hookspecs``). ``cltr.testing`` checks it. All names can be imported from here:

* :class:`Ranker`, :class:`Scorer` and :class:`LogReader` are defined below;
* :class:`ClickModel`, and :class:`Fittable` for one that can be fitted, in
  ``cltr.contracts.click_models``;
* :class:`RewardFunction`, :class:`Estimator` and :class:`Objective` in
  ``cltr.contracts.estimators``, with optional abilities of an estimator: :class:`Penalised`,
  :class:`Enforced` and :class:`PerQuery`;
* :class:`Model` and :class:`Policy` in ``cltr.models``; :class:`Component`, their base class, in
  ``cltr.contracts.component``.

An optional method returns None if the component cannot answer.
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
"""Version of these contracts. A plugin may say ``requires_api = "1.0"``; see docs/plugins.md."""


class Ranker(Component, ABC):
    """Computes the gradient by which scores are trained, for one kind of policy."""

    policy: Policy
    """The distribution over rankings that it trains. Metrics and certificates are computed for it.
    """

    def objection(self, estimator: Estimator) -> str | None:
        """Return why it cannot maximise an estimator and what to do; None if it can."""
        del estimator
        return None

    @abstractmethod
    def gradient(self, batch: Batch, objective: Objective, rng: np.random.Generator) -> Floats:
        """Return the direction that raises the objective, ``[queries, docs]``.

        Args:
            batch: scores of some lists, padded to the longest.
            objective: ``slope`` of every document at the current policy, 0 on padding, and ``gain``
                at other weights.
            rng: source of random numbers, for rankers that sample.
        """

    def curvature(self, batch: Batch, rng: np.random.Generator) -> Floats | None:
        r"""Return an estimate of :math:`\partial\omega_d/\partial s_d`, or None.

        The shape is ``[queries, docs]``. Models without an optimiser of their own, such as trees,
        scale their steps by it. An estimate may be negative, so callers must set a positive lower
        limit.
        """
        del batch, rng
        return None


class Scorer(Component, ABC):
    """Builds the model that scores documents."""

    needs_production: ClassVar[bool] = False
    """True if its models learn what to add to production's scores, and so need them."""

    @abstractmethod
    def build(self, setup: ModelSetup, *, seed: int) -> Model:
        """Return a new model. The same seed gives the same model."""


class LogReader(Component, ABC):
    """Describes a log format to DuckDB: a table of what was shown and clicked.

    A reader returns SQL and loads no rows itself, so a log may be larger than memory. cltr counts,
    checks and splits every log in the same way (``cltr.logs``).
    """

    @abstractmethod
    def select(self, connection: "DuckDBPyConnection", paths: Sequence[Path]) -> str:
        """Return a SQL query with one row for each document that was shown or clicked.

        Its columns are ``query``, ``document``, ``position`` (from 1; NULL for a click on a
        document that was not shown) and ``click``. ``session`` names the interaction of a row;
        leave it out if rows are single impressions. ``score`` and ``propensity`` of production,
        ``user`` and ``time`` are optional. All other columns are context. Ids may have any type.
        ``cltr.files.table_files`` has functions that open files.

        Args:
            connection: a DuckDB connection, in which the reader may create views.
            paths: files or folders, as the user gave them.
        """
