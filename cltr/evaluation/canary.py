r"""A canary: the new ranker on a share of the requests, judged by what users did with it.

No click model is needed: outcomes are of what was shown. A request gets the new ranker with the
share :math:`\lambda_i` that was in force, fixed before the request and logged. With A = 1 for the
new ranker and the outcome Y,

.. math:: X_i = \frac{A_i Y_i}{\lambda_i} - \frac{(1 - A_i) Y_i}{1 - \lambda_i}

has the effect of the new ranker as its mean, whatever the share was. Means of the two arms do not:
if the share rises while traffic changes, they compare other requests.

Two budgets have two units. The worst-case loss in points of NDCG limits the share at any time
(:func:`cltr.evaluation.verdict.canary_share`); the tolerated loss of outcome per request lets it
rise beyond that, on evidence (:func:`judge_canary`).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from cltr.errors import DataError
from cltr.evaluation.bounds import Limits, running_bounds
from cltr.types import Booleans, Floats

Decision = Literal["stop", "ship", "continue"]


@dataclass(frozen=True)
class CanaryLog:
    """Requests in order of arrival, ``[requests]`` each.

    Attributes:
        new: whether the request got the new ranker.
        shares: the share of the new ranker that was in force.
        outcomes: what the users did: clicks, orders, or any other number.
    """

    new: Booleans
    shares: Floats
    outcomes: Floats

    def __post_init__(self) -> None:
        """Refuse what cannot be a canary."""
        if not len(self.new) == len(self.shares) == len(self.outcomes):
            raise DataError("arms, shares and outcomes must be of the same requests")
        if not np.isfinite(self.outcomes).all():
            wrong = int(np.argmin(np.isfinite(self.outcomes))) + 1
            raise DataError(f"the outcome of request {wrong} is not a finite number")
        if not ((self.shares >= 0) & (self.shares <= 1)).all():
            raise DataError("a share lies outside [0, 1]")
        impossible = np.where(self.new, self.shares == 0, self.shares == 1)
        if impossible.any():
            first = int(np.argmax(impossible))
            arm = "the new ranker" if self.new[first] else "production"
            raise DataError(
                f"request {first + 1} got {arm} although the share of the new ranker was "
                f"{self.shares[first]:g}; log the share that was in force when the request was "
                "served"
            )

    @property
    def compared(self) -> "CanaryLog":
        """Requests that could have got either ranker; others compare nothing."""
        both = (self.shares > 0) & (self.shares < 1)
        return CanaryLog(self.new[both], self.shares[both], self.outcomes[both])

    @property
    def effects(self) -> Floats:
        """X, ``[requests]``: terms whose mean is the effect of the new ranker."""
        arm = np.where(self.new, self.shares, self.shares - 1.0)
        return self.outcomes / arm


@dataclass(frozen=True)
class CanaryVerdict:
    """What the outcomes support now.

    Attributes:
        decision: stop, ship or continue.
        share: share of the new ranker that is allowed now.
        effect: estimated effect of the new ranker, in outcome per request.
        low: lower bound of the effect; holds at all looks together.
        high: upper bound of the effect.
        confidence: of both bounds together, for all looks.
        requests: that could have got either ranker.
        new_requests: those of them that got the new ranker.
        reason: one sentence with the numbers.
    """

    decision: Decision
    share: float
    effect: float
    low: float
    high: float
    confidence: float
    requests: int
    new_requests: int
    reason: str


def judge_canary(
    log: CanaryLog,
    *,
    limits: Limits,
    tolerance: float,
    share: float,
    trusted: bool,
    confidence: float = 0.95,
) -> CanaryVerdict:
    r"""Stop, ship or continue, and with which share; valid at every look.

    Stop comes first: the upper bound of the effect is below 0. Ship: the lower bound is above
    minus the tolerance. Otherwise the share may rise to :math:`\tau / (-\text{low})`, at which the
    outcome falls by the tolerance :math:`\tau` per request at most, but only if the outcomes are
    trusted; it never has to fall below the certified share.

    Args:
        log: the requests so far.
        limits: the smallest and the largest outcome that a request can have.
        tolerance: outcome per request that may be lost.
        share: allowed by the certificate (:func:`cltr.evaluation.verdict.canary_share`), whatever
            users do.
        trusted: whether outcomes may raise the share beyond that.
        confidence: of the two bounds together, for all looks.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> new = rng.random(20_000) < 0.5
        >>> bought = (rng.random(20_000) < np.where(new, 0.4, 0.3)).astype(float)
        >>> found = judge_canary(CanaryLog(new, np.full(20_000, 0.5), bought),
        ...     limits=Limits(0.0, 1.0), tolerance=0.01, share=0.1, trusted=True)
        >>> found.decision, found.share, round(found.low, 2), round(found.high, 2)
        ('ship', 1.0, 0.06, 0.12)
    """
    compared = log.compared
    if not len(compared.new):
        raise DataError(
            "the share of the new ranker was 0 or 1 for every request, so the rankers "
            "cannot be compared"
        )
    terms = compared.effects
    low, high = (
        float(bound[-1])
        for bound in running_bounds(terms, _effect_limits(compared, limits), confidence=confidence)
    )
    effect = float(terms.mean())
    decision, allowed, reason = _decide(low, high, tolerance, share, trusted)
    return CanaryVerdict(
        decision,
        allowed,
        effect,
        low,
        high,
        confidence,
        len(terms),
        int(compared.new.sum()),
        f"{reason} Estimated effect {effect:+.4f} outcome per request, between {low:+.4f} and "
        f"{high:+.4f} with {confidence:.0%} confidence, however often one looks, from "
        f"{len(terms):,} requests.",
    )


def _effect_limits(log: CanaryLog, limits: Limits) -> Limits:
    """Limits of X, from those of the outcome and the shares, which are fixed before requests."""
    outside = (log.outcomes < limits.low) | (log.outcomes > limits.high)
    if outside.any():
        first = int(np.argmax(outside))
        raise DataError(
            f"an outcome is {log.outcomes[first]:g}, outside the limits [{limits.low:g}, "
            f"{limits.high:g}]; give the smallest and the largest possible outcome "
            "(--outcome-range)"
        )
    largest_new, largest_old = 1.0 / log.shares.min(), 1.0 / (1.0 - log.shares.max())
    most, least = max(limits.high, 0.0), min(limits.low, 0.0)
    return Limits(
        min(least * largest_new, -most * largest_old), max(most * largest_new, -least * largest_old)
    )


def _decide(
    low: float, high: float, tolerance: float, share: float, trusted: bool
) -> tuple[Decision, float, str]:
    if high < 0:
        return "stop", 0.0, "The new ranker is worse than production."
    if not trusted:
        return "continue", share, "These outcomes may not raise the share."
    if low > -tolerance:
        if tolerance == 0:
            return "ship", 1.0, "The new ranker is at least as good as production."
        return "ship", 1.0, f"The new ranker loses less than {tolerance:g} outcome per request."
    allowed = max(share, min(1.0, tolerance / -low))
    return "continue", allowed, "The outcomes do not decide yet."


def team_effects(new_clicks: Floats, production_clicks: Floats) -> Floats:
    """Credit of each interleaved request for the new ranker, from -1 to 1, ``[requests]``.

    Args:
        new_clicks: clicks on documents that the new ranker picked.
        production_clicks: clicks on documents that production picked.

    Example:
        >>> team_effects(np.array([2.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0]))
        array([ 0.33333333, -1.        ,  0.        ])
    """
    total = new_clicks + production_clicks
    difference = new_clicks - production_clicks
    return np.divide(difference, total, out=np.zeros(len(total)), where=total > 0)


def judge_interleaving(
    credits: Floats,
    *,
    tolerance: float,
    share: float = 0.5,
    trusted: bool = True,
    confidence: float = 0.95,
) -> CanaryVerdict:
    """Stop, ship or continue by team-draft interleaving; valid at every look.

    The effect is the mean credit: +1 if all clicks are on the new ranker's documents.

    Args:
        credits: of the requests so far, in order of arrival (:func:`team_effects`).
        tolerance: mean credit that the new ranker may lack.
        share: allowed while the credits do not decide: that of the certificate, for a canary.
        trusted: whether credits may ship the new ranker.
        confidence: of the two bounds together, for all looks.
    """
    bounds = running_bounds(credits, Limits(-1.0, 1.0), confidence=confidence)
    low, high, effect = float(bounds.low[-1]), float(bounds.high[-1]), float(credits.mean())
    decision, _, reason = _decide(low, high, tolerance, share, trusted)
    allowed = {"stop": 0.0, "ship": 1.0}.get(decision, share)
    return CanaryVerdict(
        decision,
        allowed,
        effect,
        low,
        high,
        confidence,
        len(credits),
        len(credits),
        f"{reason.replace('outcome per request', 'credit per request')} Mean credit {effect:+.4f} "
        f"for the new ranker, between {low:+.4f} and {high:+.4f} with {confidence:.0%} confidence, "
        f"however often one looks, from {len(credits):,} interleaved requests.",
    )
