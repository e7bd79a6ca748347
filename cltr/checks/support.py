"""What the log is worth for rankings that it did not show; whether a click model can be true."""

from collections.abc import Iterator

import numpy as np

from cltr.checks.completeness import FEW_CLICKS
from cltr.checks.contradiction import contradiction
from cltr.checks.effective import EffectiveSize, effective_interactions
from cltr.checks.evidence import Evidence
from cltr.checks.exploration import swap_matrix
from cltr.checks.findings import Finding, Level, Use, for_estimates
from cltr.policies import PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.types import Floats

MANY_EFFECTIVE_CLICKS = 400
"""Effective clicks that leave a relative error of 5%: differences of 10% can be seen."""
MUCH_HIDDEN, SOME_HIDDEN = 0.5, 0.1
"""Share of a ranking's weight on documents that the log never shows."""
FEW_DISPLAYS = 10
"""Lists of a query from which exposure cannot be counted: a rate of 1/2 then errs by a third."""
MOST_TRAFFIC, LITTLE_TRAFFIC = 0.8, 0.2
"""Share of interactions with queries that came often."""


def overlap(evidence: Evidence) -> Iterator[Finding]:
    """How many clicks is the log worth for other rankings: very different ones, and close ones?"""
    n = evidence.whole.n_interactions
    if n == 0:
        return
    far, near = _far(evidence), _near(evidence)
    yield Finding(
        "overlap",
        _worth(far, near),
        round(far.interactions, 1),
        f"for very different rankings (random order) this log is worth {far.interactions:,.0f} of "
        f"{n:,} interactions, with {far.clicks:,.0f} clicks; for close ones (neighbours swapped) "
        f"{near.clicks:,.0f} clicks"
        + ("" if evidence.knows_model or evidence.shows_bias else ", if position bias were known")
        + (
            f"; {far.hidden:.0%} of a random order is on documents that were never shown"
            if far.hidden > SOME_HIDDEN
            else ""
        ),
        "a click is weighted by how much more the new ranking shows its document than production "
        "did; if weights differ much, a few clicks decide; documents that were never shown have "
        "no estimate"
        + ("" if not evidence.counted else "; exposure is counted, so the truth is rather worse"),
        ""
        if far.clicks >= MANY_EFFECTIVE_CLICKS and far.hidden <= MUCH_HIDDEN
        else "stay close to production, or log for longer",
        details={"very_different": vars(far), "close": vars(near)},
        decides="evaluation",
    )


def _worth(far: EffectiveSize, near: EffectiveSize) -> dict[Use, Level]:
    if near.clicks < FEW_CLICKS:
        return for_estimates("fatal")
    if far.clicks < MANY_EFFECTIVE_CLICKS or far.hidden > MUCH_HIDDEN:
        return for_estimates("warning")
    return for_estimates("note" if far.hidden > SOME_HIDDEN else "good")


def _far(evidence: Evidence) -> EffectiveSize:
    """For documents in random order."""
    top_k = len(evidence.examination)
    scores = np.zeros(int(evidence.whole.offsets[-1]))
    weights = PlackettLuce().expected_weights(scores, evidence.lists, rank_weights("dcg", top_k))
    return _effective(evidence, weights)


def _near(evidence: Evidence) -> EffectiveSize:
    """For production with neighbours swapped at random."""
    top_k = len(evidence.examination)
    chances = evidence.rank_distribution[0][:, :top_k]
    return _effective(evidence, chances @ swap_matrix(top_k) @ rank_weights("dcg", top_k))


def _effective(evidence: Evidence, weights: Floats) -> EffectiveSize:
    examination = evidence.examination
    propensities = evidence.rank_distribution[0][:, : len(examination)] @ examination
    return effective_interactions(evidence.whole, weights, propensities, examination)


def rare_queries(evidence: Evidence) -> Iterator[Finding]:
    """How much of the traffic is with queries that came often?"""
    displays = evidence.whole.displays
    logged = displays[displays > 0]
    often = float(displays[displays >= FEW_DISPLAYS].sum() / max(displays.sum(), 1))
    median = float(np.median(logged)) if len(logged) else 0.0
    most = int(displays.max(initial=0))
    rare: Level = (
        "good" if often >= MOST_TRAFFIC else "warning" if often >= LITTLE_TRAFFIC else "fatal"
    )
    by_features: Level = "note" if rare != "good" else "good"
    yield Finding(
        "repeated-queries",
        {
            "evaluation": rare if evidence.counted else "good",
            "training": rare if evidence.alone else by_features,
        },
        round(often, 4),
        f"{often:.1%} of the interactions are with queries that came {FEW_DISPLAYS} times or more; "
        f"the median query came {median:g} times, the most frequent {most:,} times",
        "of a rare query the log has only a few of the lists that production would show, and "
        "without features nothing is learned from a query that came once",
        ""
        if rare == "good"
        else "ingest the log with features (--data) and production's scores (--production)",
        details={"median_displays": median},
    )


def click_model(evidence: Evidence) -> Iterator[Finding]:
    """Can the click model that was given have made these clicks?"""
    model = evidence.click_model
    if model is None:
        return
    text = contradiction(model, *evidence.by_rank)
    yield Finding(
        "click-model",
        for_estimates("warning" if text else "good"),
        None,
        text or f"click rates by rank lie within what '{model.name}' allows",
        "a click model that contradicts the clicks corrects for a bias that does not exist",
        "fit a click model to the log (cltr fit), or give values by rank "
        "(-o click-model.examination=...)"
        if text
        else "",
    )
