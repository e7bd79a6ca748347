r"""What a candidate is worth by held-out clicks, by several estimators side by side.

Each estimator is a mean of terms, one for each unit of the held-out clicks. With
:math:`X = \sum_d \frac{\omega_d}{\rho_{0,d}} (c - \beta_k)` and
:math:`E = \sum_d \frac{\omega_d}{\rho_{0,d}} \alpha_k` over the shown documents,
:math:`Z = E - \sum_d \omega_d`, which has mean 0 under the logging policy:

======================== ==========================================================================
IPS                      X
SNIPS                    :math:`\sum_d \omega_d \cdot \sum_i X_i / \sum_i E_i`
beta*-IPS                :math:`X - b^* Z`, :math:`b^* = \mathrm{Cov}(X, Z) / \mathrm{Var}(Z)` from
                         other clicks
DR                       :math:`\sum_d \omega_d \hat R_d + X - \sum_d \frac{\omega_d}{\rho_{0,d}}
                         \alpha_k \hat R_d`
DM                       :math:`\sum_d \omega_d \hat R_d`
click model              the same with the relevance of a click model
logarithmic smoothing    :math:`\ln(1 + \lambda X) / \lambda` of interactions
======================== ==========================================================================

References: Gupta et al., arXiv 2405.05736 (beta*-IPS); Sakhi et al., arXiv 2405.14335 (smoothing).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cltr.evaluation.part import Fold, LogPart, Weights
from cltr.types import Floats

Terms = Callable[[LogPart, Floats], Floats]
"""Terms of the units of a part for some expected weights; linear in the weights."""


def ips_terms(part: LogPart, weights: Floats) -> Floats:
    """X of each unit, ``[units]``."""
    return part.units.clicked(part.by_propensity(weights))


def weight_terms(part: LogPart, weights: Floats) -> Floats:
    """E of each unit, ``[units]``."""
    return part.units.examined(part.by_propensity(weights))


def centred_terms(part: LogPart, weights: Floats) -> Floats:
    """Z of each unit, ``[units]``; its mean is 0 if production can show every weighted document."""
    supported = np.where(part.exposure.propensities > 0, weights, 0.0)
    return weight_terms(part, weights) - part.units.own(supported)


def dr_terms(part: LogPart, weights: Floats) -> Floats:
    """Doubly robust terms of each unit, ``[units]``."""
    each = part.by_propensity(weights)
    regression = part.units.own(weights * part.relevance)
    return regression + part.units.clicked(each) - part.units.examined(each * part.relevance)


def dm_terms(part: LogPart, weights: Floats) -> Floats:
    """The direct method: relevance from other clicks alone, ``[units]``."""
    return part.units.own(weights * part.relevance)


def click_model_terms(part: LogPart, weights: Floats) -> Floats:
    """The same with the relevance of a click model, ``[units]``."""
    assert part.click_model_values is not None
    return part.units.own(weights * part.click_model_values)


def best_baseline(x: Floats, z: Floats) -> float:
    r""":math:`b^* = \mathrm{Cov}(X, Z) / \mathrm{Var}(Z)`; 0 where Z does not vary.

    Example:
        >>> best_baseline(np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.0, 1.0]))
        1.0
    """
    centred = z - z.mean()
    variance = float(centred @ centred)
    return float(centred @ (x - x.mean())) / variance if variance > 0 else 0.0


def baseline_terms(fold: Fold, weights: Floats, fit_weights: Floats) -> Floats:
    """Terms of beta*-IPS on held-out clicks, ``[units]``; the baseline is from the other clicks.

    Args:
        fold: whose held-out clicks.
        weights: on the documents of the held-out part.
        fit_weights: of the same policy on the documents of the other part.
    """
    x, z = (terms(fold.fit, fit_weights) for terms in (ips_terms, centred_terms))
    counts = fold.fit.units.counts
    baseline = best_baseline(x - counts * (x.sum() / counts.sum()), z)
    return ips_terms(fold.held_out, weights) - baseline * centred_terms(fold.held_out, weights)


@dataclass(frozen=True)
class HeldOutTerms:
    """Terms of an estimator on all held-out units, pooled over folds, ``[units]`` each."""

    candidate: Floats
    production: Floats
    difference: Floats


LINEAR: dict[str, Terms] = {
    "IPS": ips_terms,
    "DR": dr_terms,
    "DM": dm_terms,
    "click model": click_model_terms,
}
"""Estimators whose terms are linear in the weights."""


def linear_terms(all_weights: Sequence[Weights], terms: Terms) -> HeldOutTerms:
    """Of an estimator whose terms are linear in the weights."""

    def pooled(of: Callable[[Weights, LogPart], Floats]) -> Floats:
        held_out = ((one, one.fold.held_out) for one in all_weights)
        return np.concatenate([terms(part, of(one, part)) for one, part in held_out])

    candidate = pooled(lambda one, part: one.candidate[part.split])
    production = pooled(lambda one, part: one.production[part.split])
    return HeldOutTerms(candidate, production, candidate - production)


def beta_terms(all_weights: Sequence[Weights]) -> HeldOutTerms:
    """Of beta*-IPS; the difference has a baseline of its own."""

    def pooled(of: Callable[[Weights, LogPart], Floats]) -> Floats:
        return np.concatenate(
            [
                baseline_terms(one.fold, of(one, one.fold.held_out), of(one, one.fold.fit))
                for one in all_weights
            ]
        )

    return HeldOutTerms(
        pooled(lambda one, part: one.candidate[part.split]),
        pooled(lambda one, part: one.production[part.split]),
        pooled(lambda one, part: one.difference(part)),
    )


def snips_terms(all_weights: Sequence[Weights], counts: Floats) -> HeldOutTerms:
    r"""Of SNIPS: terms with its value as their mean and its first-order error as their error.

    With :math:`r = \sum X / \sum E` and the mean total weight :math:`Z`, a unit's term is
    :math:`Z (r\, n_i + (X_i - r E_i) / \bar E)`.
    """
    x, e = linear_terms(all_weights, ips_terms), linear_terms(all_weights, weight_terms)
    own = linear_terms(all_weights, lambda part, weights: part.units.own(weights))
    n = counts.sum()

    def normalised(clicked: Floats, examined: Floats, total: Floats) -> Floats:
        mean = examined.sum() / n
        if mean <= 0:
            return np.zeros(len(clicked))
        ratio = clicked.sum() / examined.sum()
        each: Floats = total.sum() / n * (ratio * counts + (clicked - ratio * examined) / mean)
        return each

    candidate = normalised(x.candidate, e.candidate, own.candidate)
    production = normalised(x.production, e.production, own.production)
    return HeldOutTerms(candidate, production, candidate - production)
