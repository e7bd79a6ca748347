r"""Bounds for a candidate's gain that hold: what ``cltr gate`` deploys and rejects by.

A click on a document that production hardly ever shows counts :math:`1/\rho_0` times, so few such
clicks would decide. The bounds clip propensities at :math:`\tau`, and stay on the safe side: a
document with :math:`\rho_0 < \tau` is taken as irrelevant if the candidate moves it up, and as
relevant if it moves it down (for the upper bound the other way round).

.. math:: X_i = \sum_d (\omega - \omega_0)_d \Big[\tilde R_d
          + \frac{c_i(d) - \alpha_{k_i} \tilde R_d - \beta_{k_i}}{\max(\rho_{0,d}, \tau)}\Big],
          \qquad \tilde R_d = \begin{cases} \hat R_d & \rho_{0,d} \ge \tau \\
          [\omega_d < \omega_{0,d}] & \rho_{0,d} < \tau\end{cases}

has a mean of at most the gain: its bias :math:`(\omega - \omega_0)_d (1 - \rho_{0,d}/\tau)
(\tilde R_d - R_d)` is never positive. A document that production never shows is treated so, too.
:math:`\hat R` and :math:`\tau` come from other clicks, and the limits of X from policy and
propensities. So :func:`~cltr.evaluation.bounds.betting_lower` holds at every number of
interactions, if these are independent and the click model and the propensities are right. Where
the log keeps users or sessions, these are the independent units
(:mod:`cltr.evaluation.dependence`). The error
of a fitted click model is added (:mod:`cltr.evaluation.click_model_error`). Logs with counts only
have queries as units, and the approximate interval of these, where they support one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cltr.errors import DataError
from cltr.evaluation.bounds import (
    ClusterTotals,
    Limits,
    MeanInterval,
    cluster_interval,
)
from cltr.evaluation.dependence import Dependence, pool
from cltr.evaluation.estimators import dr_terms
from cltr.evaluation.part import LogPart, Weights
from cltr.evaluation.units import InteractionUnits
from cltr.types import Booleans, Floats, Lists

CLIPS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
"""Propensity clips to choose from."""


@dataclass(frozen=True)
class GainBound:
    """A one-sided bound for the gain."""

    value: float
    """Mean of the terms, on the safe side of the gain."""
    bound: float
    method: str
    clips: tuple[float, ...]
    """Propensity clip of each fold."""
    no_bound_because: str | None = None


def dependence_of(all_weights: Sequence[Weights]) -> Dependence:
    """Which held-out units depend on each other."""
    return pool([one.fold.held_out.units.dependence for one in all_weights])


def queries_of(all_weights: Sequence[Weights]) -> Dependence:
    """Held-out units by query: what is independent if queries stand for new ones."""
    parts = (one.fold.held_out for one in all_weights)
    numbers = [part.units.queries + part.first_query for part in parts]
    return Dependence("queries", np.concatenate(numbers))


def estimated_gain(all_weights: Sequence[Weights]) -> ClusterTotals:
    """The gain over production by DR on held-out clicks, unit by unit, without any clip."""
    held_out = [(one.fold.held_out, one) for one in all_weights]
    terms = [dr_terms(part, one.difference(part)) for part, one in held_out]
    counts = [part.units.counts for part, _ in held_out]
    return ClusterTotals(np.concatenate(terms), np.concatenate(counts))


def gain_lower(all_weights: Sequence[Weights], *, confidence: float, seed: int) -> GainBound:
    """Lower bound for the gain over production, from held-out clicks.

    Args:
        all_weights: of candidate and production, fold by fold.
        confidence: one-sided, for example 0.95.
        seed: of the shuffle of the interactions.
    """
    return _bound(all_weights, 1.0, confidence=confidence, seed=seed)


def gain_upper(all_weights: Sequence[Weights], *, confidence: float, seed: int) -> GainBound:
    """Upper bound: minus the lower bound for the loss."""
    found = _bound(all_weights, -1.0, confidence=confidence, seed=seed)
    return GainBound(-found.value, -found.bound, found.method, found.clips, found.no_bound_because)


def _bound(
    all_weights: Sequence[Weights], sign: float, *, confidence: float, seed: int
) -> GainBound:
    n = sum(one.fold.held_out.units.n_interactions for one in all_weights)
    if n == 0:
        raise DataError("there are no held-out interactions to judge the candidate by")
    terms, counts, limits, clips = [], [], [], []
    most = dependence_of(all_weights).most
    for one in all_weights:
        held_out = one.fold.held_out
        clip = choose_clip(one.fold.fit, sign * one.difference(one.fold.fit), (n, most), confidence)
        differences = sign * one.difference(held_out)
        clips.append(clip)
        terms.append(safe_terms(held_out, differences, clip=clip))
        counts.append(held_out.units.counts)
        limits.append(safe_limits(held_out, differences, clip=clip))
    found = _interval(
        ClusterTotals(np.concatenate(terms), np.concatenate(counts)),
        _joint(limits),
        _interactions_of(all_weights),
        confidence=confidence,
        seed=seed,
    )
    error, reason = _model_error(all_weights, clips, n)
    reason = found.no_interval_because or reason
    if reason is not None:
        return GainBound(found.value, float("-inf"), "none", tuple(clips), reason)
    low = found.with_error(error).low if error > 0 else found.low
    return GainBound(found.value, low, found.method, tuple(clips))


def _interactions_of(all_weights: Sequence[Weights]) -> Dependence | None:
    """Which interactions depend on each other; None if units are queries."""
    units = (one.fold.held_out.units for one in all_weights)
    known = all(isinstance(one, InteractionUnits) for one in units)
    return dependence_of(all_weights) if known else None


def _interval(
    totals: ClusterTotals,
    limits: Limits,
    interactions: Dependence | None,
    *,
    confidence: float,
    seed: int,
) -> MeanInterval:
    """By betting on interactions; by t or bootstrap on queries, where the log supports it."""
    two_sided = 2 * confidence - 1
    if interactions is None:
        return cluster_interval(
            totals, confidence=two_sided, target="new queries", seed=seed, limits=limits
        )
    low = interactions.lower(totals.sums, limits, confidence=confidence, seed=seed)
    value, nan, inf = totals.value, float("nan"), float("inf")
    return MeanInterval(value, nan, min(low, value), inf, two_sided, "betting", "these queries")


def _model_error(
    all_weights: Sequence[Weights], clips: Sequence[float], n: int
) -> tuple[float, str | None]:
    """What the error of fitted click models adds; folds may share a model, so errors add up."""
    total = 0.0
    for one, clip in zip(all_weights, clips, strict=True):
        part = one.fold.held_out
        each = part.by_propensity(one.difference(part), clip=clip) * part.traffic
        error, reason = part.model_error.size(each, part.relevance)
        if reason is not None:
            return error, reason
        total += part.units.n_interactions / n * error
    return total, None


def safe_terms(part: LogPart, differences: Floats, *, clip: float) -> Floats:
    r"""X of each unit, ``[units]``: their mean is at most :math:`\sum_d (\omega-\omega_0)_d R_d`.

    Args:
        part: whose clicks.
        differences: :math:`\omega - \omega_0`, ``[docs]``.
        clip: :math:`\tau`.
    """
    relevance = _safe_relevance(part, differences, clip)
    each = part.by_propensity(differences, clip=clip)
    regression = part.units.own(differences * relevance)
    return regression + part.units.clicked(each) - part.units.examined(each * relevance)


def _safe_relevance(part: LogPart, differences: Floats, clip: float) -> Floats:
    rare: Booleans = (part.exposure.propensities < clip) | (part.exposure.propensities <= 0)
    return np.where(rare, (differences < 0).astype(np.float64), part.relevance)


def safe_limits(part: LogPart, differences: Floats, *, clip: float) -> Limits:
    r"""The least and the most that X of one interaction can be, whatever is shown and clicked.

    Args:
        part: whose propensities; no click is looked at.
        differences: :math:`\omega - \omega_0`, ``[docs]``.
        clip: of the propensities.
    """
    relevance = _safe_relevance(part, differences, clip)
    return _limits(part, differences, relevance, clip)


def click_sum_limits(
    all_weights: Sequence[Weights], *, regression: bool, who: str = "difference"
) -> Limits:
    """The same for terms without a clip: of DR with its regression, or of IPS without.

    Args:
        all_weights: of candidate and production, fold by fold.
        regression: whether terms have a regression.
        who: ``difference``, ``candidate`` or ``production``.
    """
    found = []
    for one in all_weights:
        part = one.fold.held_out
        weights = one.difference(part) if who == "difference" else getattr(one, who)[part.split]
        relevance = part.relevance if regression else np.zeros(len(weights))
        found.append(_limits(part, weights, relevance, 0.0))
    return _joint(found)


def _joint(limits: Sequence[Limits]) -> Limits:
    return Limits(min(one.low for one in limits), max(one.high for one in limits))


def _limits(part: LogPart, weights: Floats, relevance: Floats, clip: float) -> Limits:
    """Of the query's own sum plus what any K shown documents can add by clicks or no clicks."""
    lists, affine = part.units.lists, part.affine
    each = part.by_propensity(weights, clip=clip)
    expected = relevance[:, None] * affine.examination + affine.trust
    outcomes = np.stack([each[:, None] * (1.0 - expected), -each[:, None] * expected])
    outcomes = np.where(part.exposure.propensities[:, None] > 0, outcomes, 0.0)
    own, top_k = lists.sum(weights * relevance), len(affine.trust)
    most = own + _largest_sums(outcomes.max((0, 2)).clip(min=0.0), lists, top_k)
    least = own - _largest_sums(-outcomes.min((0, 2)).clip(max=0.0), lists, top_k)
    return Limits(float(least.min(initial=0.0)), float(most.max(initial=0.0)))


def _largest_sums(values: Floats, lists: Lists, top_k: int) -> Floats:
    """The sum of the K largest values of each list, ``[queries]``."""
    order = np.lexsort((-values, lists.owners))
    return lists.sum(np.where(lists.places < top_k, values[order], 0.0))


def choose_clip(
    part: LogPart, differences: Floats, sizes: tuple[int, int], confidence: float
) -> float:
    r"""The clip that promises the highest bound by other clicks than those it is used on.

    By the bound of Bernstein, :math:`\bar X - \sqrt{2 L s^2/n} - L \cdot \text{width} / (3n)` with
    :math:`L = \ln(1/\alpha)`: mean and variance of the terms of ``part``, n of the other clicks.
    The width is that of a cluster.

    Args:
        part: the other clicks.
        differences: :math:`\omega - \omega_0` on its documents, ``[docs]``.
        sizes: interactions that the clip is for, and how many of them a cluster can have.
        confidence: of the bound.
    """
    spread, (n, most) = float(-np.log1p(-confidence)), sizes
    counts = part.units.counts

    def promise(clip: float) -> float:
        terms = safe_terms(part, differences, clip=clip)
        mean = float(terms.sum() / counts.sum())
        variance = float(((terms - mean * counts) ** 2).sum() / counts.sum())
        width = most * safe_limits(part, differences, clip=clip).width
        return mean - float(np.sqrt(2 * spread * variance / n)) - spread * width / (3 * n)

    return max(CLIPS, key=promise)
