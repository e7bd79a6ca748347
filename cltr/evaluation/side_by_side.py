"""A candidate by all estimators, side by side: values, errors, lower bounds, and what they cost."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from cltr.evaluation.bounds import (
    few_clicks,
    smoothed_lower,
    smoothed_mean,
    smoothing_rate,
    student_quantile,
)
from cltr.evaluation.bounds.clusters import effective_size
from cltr.evaluation.bounds.interval import ROUNDING
from cltr.evaluation.dependence import Dependence
from cltr.evaluation.estimators import (
    LINEAR,
    HeldOutTerms,
    beta_terms,
    ips_terms,
    linear_terms,
    snips_terms,
    weight_terms,
)
from cltr.evaluation.gain_bounds import click_sum_limits, dependence_of, queries_of
from cltr.evaluation.part import Weights
from cltr.evaluation.units import InteractionUnits
from cltr.types import Floats

SMOOTHING = "log. smoothing"
UNCORRECTED = ("DM", "click model")
"""Estimates that rest on relevance estimates alone."""


@dataclass(frozen=True)
class EstimateRow:
    """One estimator's answer."""

    estimator: str
    value: float
    """Of the candidate, in expected weight of relevant documents a request (DCG)."""
    production: float
    difference: float
    error: float | None
    """Standard error of the difference for the queries of this log: users, sessions or units are
    independent."""
    query_error: float | None
    """Standard error of the difference for new queries: queries are independent."""
    low: float | None
    """Lower bound for the difference, one-sided; None if there is none."""
    bound: str
    """Which bound it is; ``t`` is approximate, the others hold at every number of units. ``none``
    for estimates that clicks do not correct: their errors say nothing about their bias."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Support:
    """How much the held-out clicks say about a candidate."""

    effective_sample: float
    """By Kish: for this candidate the units are worth so many equal ones."""
    largest_weight: float
    """Largest candidate weight by propensity of a document that production can show."""
    unsupported: float
    """Share of the candidate's weight on documents that production never shows."""

    def plain(self) -> dict[str, float]:
        """For JSON."""
        return asdict(self)


def support_of(all_weights: Sequence[Weights]) -> Support:
    """Effective sample size, largest weight and unsupported share of a candidate."""
    parts = [(one.fold.held_out, one.candidate[one.fold.held_out.split]) for one in all_weights]
    each = np.concatenate([weight_terms(part, weights) for part, weights in parts])
    n = np.array([part.units.n_interactions for part, _ in parts], np.float64)
    hidden = np.array([part.unsupported(weights) for part, weights in parts])
    return Support(
        effective_size(np.maximum(each, 0.0)),
        max(float(part.by_propensity(weights).max(initial=0.0)) for part, weights in parts),
        float(n @ hidden / max(n.sum(), 1.0)),
    )


def estimate_rows(
    all_weights: Sequence[Weights], dr_low: float | None, *, confidence: float, seed: int
) -> list[EstimateRow]:
    """All estimators that the log supports.

    Args:
        all_weights: of candidate and production, fold by fold.
        dr_low: lower bound of the gain by DR, by which the gate decides; None if there is none.
        confidence: of each lower bound, one-sided.
        seed: of the shuffle of betting bounds.
    """
    held_out = [one.fold.held_out for one in all_weights]
    counts = np.concatenate([part.units.counts for part in held_out])
    found: dict[str, HeldOutTerms] = {
        "IPS": linear_terms(all_weights, ips_terms),
        "SNIPS": snips_terms(all_weights, counts),
        "beta*-IPS": beta_terms(all_weights),
        "DR": linear_terms(all_weights, LINEAR["DR"]),
        "DM": linear_terms(all_weights, LINEAR["DM"]),
    }
    if all(part.click_model_values is not None for part in held_out):
        found["click model"] = linear_terms(all_weights, LINEAR["click model"])
    interactions = all(isinstance(part.units, InteractionUnits) for part in held_out)
    dependence, bets = dependence_of(all_weights), {}
    if interactions:
        limits = click_sum_limits(all_weights, regression=False)
        bets["IPS"] = dependence.lower(
            found["IPS"].difference, limits, confidence=confidence, seed=seed
        )
    supported = all(_enough_clicks(one) for one in all_weights)
    rows = [
        _row(
            name,
            terms,
            counts,
            (dependence, queries_of(all_weights)),
            confidence=confidence,
            bet=bets.get(name),
            supported=supported,
        )
        for name, terms in found.items()
    ]
    rows = [_deciding(row, dr_low, interactions) if row.estimator == "DR" else row for row in rows]
    if interactions and dependence.clusters is None:  # smoothing needs independent interactions
        rows.append(_smoothed(all_weights, found["IPS"], rows[0], confidence=confidence))
    return rows


def _row(
    name: str,
    terms: HeldOutTerms,
    counts: Floats,
    clusters: tuple[Dependence, Dependence],
    *,
    confidence: float,
    bet: float | None,
    supported: bool,
) -> EstimateRow:
    """With errors for these queries and for new ones, by their clusters."""
    n, here = counts.sum(), clusters[0].totals(terms.difference, counts)
    error, query_error = (each.error(terms.difference, counts) for each in clusters)
    approximate = None
    if error is not None and name not in UNCORRECTED and supported:
        degrees = int((here.counts > 0).sum()) - 1
        approximate = here.value - student_quantile(confidence, degrees) * error
    return EstimateRow(
        name,
        float(terms.candidate.sum() / n),
        float(terms.production.sum() / n),
        here.value,
        error,
        query_error,
        approximate if bet is None else min(bet, here.value),
        _bound_name(approximate, bet),
    )


def _deciding(row: EstimateRow, low: float | None, interactions: bool) -> EstimateRow:
    """The row with the bound by which the gate decides, so that a gain has one bound."""
    name = "none" if low is None else "betting" if interactions else "t"
    return replace(row, low=low, bound=name)


def _bound_name(approximate: float | None, bet: float | None) -> str:
    if bet is not None:
        return "betting"
    return "none" if approximate is None else "t"


def _enough_clicks(one: Weights) -> bool:
    """Whether enough clicks decide for an approximate bound (:func:`few_clicks`)."""
    part = one.fold.held_out
    sizes = part.by_propensity(one.difference(part))
    expected = part.statistics.displays_per_document * part.exposure.attention
    return few_clicks(sizes, np.where(sizes != 0, expected, 0.0)) is None


def _smoothed(
    all_weights: Sequence[Weights], terms: HeldOutTerms, ips: EstimateRow, *, confidence: float
) -> EstimateRow:
    """Logarithmic smoothing of IPS; its rates come from the other clicks of each fold."""
    limits = click_sum_limits(all_weights, regression=False)

    def smoothed(which: str, held: Floats, low: float) -> tuple[float, float]:
        others = np.concatenate(
            [ips_terms(one.fold.fit, _fit_weights(one)[which]) for one in all_weights]
        )
        moment, low = float((others**2).mean()), low * (1 + ROUNDING)
        if moment <= 0:
            return float(held.mean()), float(held.mean())
        rate = smoothing_rate(moment, len(held), confidence=confidence)
        rate = min(rate, -0.5 / low) if low < 0 else rate
        bound = smoothed_lower(held, rate=rate, confidence=confidence, low=low)
        return smoothed_mean(held, rate=rate, low=low), bound

    lows = {who: _lowest(all_weights, who) for who in ("candidate", "production")}
    value, _ = smoothed("candidate", terms.candidate, lows["candidate"])
    production, _ = smoothed("production", terms.production, lows["production"])
    difference, low = smoothed("difference", terms.difference, limits.low)
    return EstimateRow(
        SMOOTHING, value, production, difference, ips.error, ips.query_error, low, "smoothing"
    )


def _fit_weights(one: Weights) -> Mapping[str, Floats]:
    split = one.fold.fit.split
    return {
        "candidate": one.candidate[split],
        "production": one.production[split],
        "difference": one.difference(one.fold.fit),
    }


def _lowest(all_weights: Sequence[Weights], who: str) -> float:
    """The least that one interaction can add to the value of a policy by IPS."""
    return click_sum_limits(all_weights, regression=False, who=who).low
