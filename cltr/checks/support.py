"""What estimators would make of a log: propensities, the click model, weights."""

from collections.abc import Iterator

import numpy as np

from cltr.checks.evidence import Evidence, Finding, Level
from cltr.errors import CltrError
from cltr.exposure.production_ranker import LARGEST_MISFIT, misfit
from cltr.interfaces import ClickModel
from cltr.policies import PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.types import Floats, Integers


def policy(evidence: Evidence) -> Iterator[Finding]:
    """Is what is known of production true of the log?"""
    chances, source = evidence.rank_distribution
    if source == "counts":
        yield Finding(
            "exposure",
            "note",
            None,
            "production is known by counts only: neither scores nor propensities were logged",
            "a document that was never shown counts as one that production never shows",
            "log scores or propensities, or give production's scores with --production FILE",
        )
        return
    away = misfit(chances, evidence.whole)
    level: Level = "good" if away <= 0.02 else "note" if away <= LARGEST_MISFIT else "warning"
    yield Finding(
        "exposure",
        level,
        round(away, 4),
        f"logged {source} put {away:.1%} of the impressions elsewhere than they were, beyond "
        "chance",
        "propensities that are not those of this log make every weight wrong",
        "" if level == "good" else "check which ranker wrote them; or use --exposure counted",
    )


def contradiction(model: ClickModel, impressions: Integers, clicks: Integers) -> str:
    """The first rank whose click rate an affine model excludes, in words; empty if there is none.

    Args:
        model: what is assumed.
        impressions: by rank, ``[K]``.
        clicks: by rank, ``[K]``.
    """
    top_k = _most_ranks(model, len(impressions))
    if top_k == 0:
        return ""
    shown, (examination, trust) = impressions[:top_k], model.affine(top_k)
    rates = clicks[:top_k] / np.maximum(shown, 1)
    error = 3 * np.sqrt(rates * (1 - rates) / np.maximum(shown, 1))
    low, high = np.minimum(trust, examination + trust), np.maximum(trust, examination + trust)
    outside = np.flatnonzero((shown > 0) & ((rates + error < low) | (rates - error > high)))
    if not len(outside):
        return ""
    rank = int(outside[0])
    return (
        f"'{model.name}' says that rank {rank + 1} is clicked between {low[rank]:.2f} and "
        f"{high[rank]:.2f} of the time; in the log it is {rates[rank]:.3f}"
    )


def click_model(evidence: Evidence) -> Iterator[Finding]:
    """Can these clicks come from the click model that is assumed?"""
    model = evidence.click_model
    if _most_ranks(model, evidence.whole.top_k) == 0:
        return
    text = contradiction(model, *evidence.by_rank)
    yield Finding(
        "click-model",
        "warning" if text else "good",
        None,
        text or f"click rates by rank lie within what '{model.name}' allows",
        "a click model that cannot have made these clicks corrects for a bias that is not there",
        "fit a click model to the log (cltr fit), or give values by rank "
        "(-o click-model.examination=...)"
        if text
        else "",
    )


def _most_ranks(model: ClickModel, top_k: int) -> int:
    """The most ranks that an affine model has values for; 0 if it is not affine."""
    for n_ranks in range(top_k, 0, -1):
        try:
            model.affine(n_ranks)
        except CltrError:
            continue
        return n_ranks
    return 0


def effective_sample(evidence: Evidence) -> Iterator[Finding]:
    """How many interactions is the log worth for a policy that ranks otherwise?"""
    top_k = _most_ranks(evidence.click_model, evidence.whole.top_k)
    statistics = evidence.whole
    n = statistics.n_interactions
    if top_k == 0 or n == 0:
        return
    examination = evidence.click_model.affine(top_k).examination
    exposure = evidence.rank_distribution[0][:, :top_k] @ examination
    weights = PlackettLuce().expected_weights(
        np.zeros(len(exposure)), evidence.lists, rank_weights("dcg", top_k)
    )
    shown = statistics.impressions[:, :top_k]
    clip = min(1.0, 10 / np.sqrt(n))
    hidden = float(weights[exposure <= 0].sum() / weights.sum())
    for name, floor in (("ips", 0.0), ("ips, propensities clipped at 10/√N", clip)):
        share, largest = _kish(shown, examination, weights, np.maximum(exposure, floor))
        size = share * n
        level = _worth(evidence, size, hidden, clipped=floor > 0)
        unseen = f"; {hidden:.0%} of its weight is on what is never in the first {top_k}"
        yield Finding(
            "effective-sample" + ("-clipped" if floor else ""),
            level,
            round(size, 1),
            f"for a policy that ranks at random, {name}: worth {size:,.0f} of {n:,} interactions; "
            f"largest weight {largest:,.1f}" + (unseen if hidden > 0 else ""),
            "weights ω/ρ₀ that differ much let a few clicks decide; the error is that of so many "
            "interactions only, and what is never shown is not estimated at all"
            if evidence.well_counted
            else "exposure is counted from a few lists, so these weights are better than the truth",
            "" if level == "good" else "stay near production, clip propensities, or log for longer",
        )


def _worth(evidence: Evidence, size: float, hidden: float, *, clipped: bool) -> Level:
    if size < 10 and clipped:
        return "fatal"
    if size < 100 or hidden > 0.5:
        return "warning"
    return "note" if size < 1000 or hidden > 0.1 or not evidence.well_counted else "good"


def _kish(
    shown: Integers, examination: Floats, weights: Floats, exposure: Floats
) -> tuple[float, float]:
    """Kish's effective share of impressions and the largest weight, for weights ω α / ρ₀."""
    each = np.divide(weights, exposure, out=np.zeros(len(weights)), where=exposure > 0)
    table = each[:, None] * examination
    first, second = float((shown * table).sum()), float((shown * table**2).sum())
    present = shown > 0
    largest = float(table[present].max()) if present.any() else 0.0
    return (first**2 / (second * shown.sum()) if second > 0 else 0.0), largest
