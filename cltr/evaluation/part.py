"""A part of a log, ready for evaluation: its clicks, production's exposure, relevance estimates."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cltr.evaluation.click_model_error import ClickModelError
from cltr.evaluation.units import Units
from cltr.policies.on_dataset import CountedPolicy, Mixture, ScoredPolicy
from cltr.types import Affine, ClickStatistics, Exposure, Floats


def doubly_robust(
    statistics: ClickStatistics, exposure: Exposure, relevance: Floats, affine: Affine
) -> Floats:
    r"""Relevance estimates of other clicks, corrected by these, without any clipping, ``[docs]``.

    Args:
        statistics: clicks.
        exposure: that production gave.
        relevance: :math:`\hat R` from other clicks, ``[docs]``.
        affine: examination and trust by rank.
    """
    examined = statistics.average(affine.examination)
    inverse = exposure.inverse_propensities(examined)
    expected = examined * relevance + statistics.average(affine.trust)
    return np.asarray(relevance + (statistics.click_rate - expected) * inverse)


@dataclass(frozen=True)
class LogPart:
    """One part of a log under one click model."""

    split: str
    units: Units
    statistics: ClickStatistics
    exposure: Exposure
    production: ScoredPolicy | CountedPolicy
    relevance: Floats
    r""":math:`\hat R` of every document, in [0, 1], from other clicks, ``[docs]``."""
    click_model_values: Floats | None = None
    """Relevance of every document by a click model, ``[docs]``; None if there is none."""
    model_error: ClickModelError = field(default_factory=lambda: ClickModelError(False))
    """What the error of the click model does to values."""
    first_query: int = 0
    """Number of the part's first query in the whole data set."""

    @property
    def affine(self) -> Affine:
        """Examination and trust by rank."""
        return self.units.affine

    def by_propensity(self, weights: Floats, *, clip: float = 0.0) -> Floats:
        r""":math:`g_d = \omega_d / \max(\rho_{0,d}, \tau)`, ``[docs]``; 0 where both are 0."""
        propensities = np.maximum(self.exposure.propensities, clip)
        each: Floats = np.divide(
            weights, propensities, out=np.zeros(len(weights)), where=propensities > 0
        )
        return each

    @property
    def doubly_robust(self) -> Floats:
        """Relevance estimates that the clicks of this part correct, ``[docs]``; not bounded."""
        return doubly_robust(self.statistics, self.exposure, self.relevance, self.affine)

    @property
    def traffic(self) -> Floats:
        """P(q) of each document's query, ``[docs]``."""
        return np.repeat(self.statistics.query_weights, np.diff(self.statistics.offsets))

    def unsupported(self, weights: Floats) -> float:
        """Share of a policy's weight on documents that production never shows."""
        each = self.traffic * weights
        total, hidden = float(each.sum()), self.exposure.propensities <= 0
        return float(each[hidden].sum()) / total if total > 0 else 0.0


@dataclass(frozen=True)
class Fold:
    """Clicks to estimate from, and the other clicks that all choices were made on."""

    fit: LogPart
    held_out: LogPart


@dataclass(frozen=True)
class Weights:
    r"""Expected weights :math:`\omega` of a candidate and of production on both parts of a fold."""

    fold: Fold
    candidate: Mapping[str, Floats]
    production: Mapping[str, Floats]

    @classmethod
    def of(cls, fold: Fold, served: Mapping[str, Mixture], rank_weights: Floats) -> "Weights":
        """Of a candidate that is known on both splits of the fold."""
        splits = (fold.fit.split, fold.held_out.split)
        return cls(
            fold,
            {split: served[split].weights(rank_weights) for split in splits},
            {
                part.split: part.production.weights(rank_weights)
                for part in (fold.fit, fold.held_out)
            },
        )

    def difference(self, part: LogPart) -> Floats:
        r""":math:`\omega - \omega_0` on one part, ``[docs]``."""
        return np.asarray(self.candidate[part.split] - self.production[part.split])
