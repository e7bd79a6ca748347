"""Sentences about a result, built from declared guarantees and the numbers of this run.

No sentence depends on the name of a component. Every number in a sentence was computed in this run.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cltr.interfaces import Guarantee
from cltr.looks import POINT

SPLITS_TOLD = ("test", "train")
"""Splits whose worst case is told, the more telling one first."""
FAR_OUTSIDE = 2.0
"""Rewards estimate relevance, which lies in [0, 1]; a mean this far outside cannot be relevance."""

ROUNDING = 1e-6
"""Differences of values that are smaller are those of floating-point numbers."""


def limit_sentence(guarantee: Guarantee, estimator: str, certificate: Mapping[str, Any]) -> str:
    """What limits the damage of wrong estimates: the estimator's guarantee, and the certificate.

    Args:
        guarantee: what the estimator declares.
        estimator: its name, for the sentence.
        certificate: of a result, by split.

    Example:
        >>> worst = {"worst_case": {"ndcg@5": {"loss": 0.38}}}
        >>> limit_sentence("none", "plain", {"test": worst, "train": None})
        'Nothing limits how far the policy moves: at worst, NDCG@5 falls by 38.0 points (test)...'
    """
    words = {
        "none": "Nothing limits how far the policy moves",
        "incentive": f"'{estimator}' does not reward moves beyond its clip, but nothing "
        "enforces it",
        "enforced": f"What is served keeps the bound of '{estimator}'",
    }[guarantee]
    cases = {split: certificate[split]["worst_case"] for split in SPLITS_TOLD if certificate[split]}
    if not cases:
        return f"{words}. How much could be lost is not known, since production is not known."
    metric = next(name for name in next(iter(cases.values())) if name.startswith("ndcg@"))
    losses = (f"{100 * case[metric]['loss']:.1f} points ({split})" for split, case in cases.items())
    return f"{words}: at worst, {metric.upper()} falls by {' or '.join(losses)}; {POINT}."


def impossible_values(
    off_policy: Mapping[str, Any] | None, rewards: Mapping[str, float]
) -> Iterator[str]:
    """What cannot be true of the estimates, to be said before anything else.

    Args:
        off_policy: values of production and of the policy by clicks, if there are any.
        rewards: mean reward of shown documents by split.
    """
    for split, mean in rewards.items():
        if not -FAR_OUTSIDE <= mean <= FAR_OUTSIDE:
            yield (
                f"The estimates are not usable: the mean relevance of shown documents comes out at "
                f"{mean:.2f} ({split} clicks), and relevance lies between 0 and 1. The click model "
                "or the exposure is wrong."
            )
    if off_policy is None:
        return
    values = {"production": off_policy["production"]["value"]}
    if f"{off_policy['policy']['value']:.4f}" == f"{values['production']:.4f}":
        values = {"production and of the new policy": values["production"]}
    else:
        values["the new policy"] = off_policy["policy"]["value"]
    for words, value in values.items():
        if value < 0:
            yield (
                f"The estimates are not usable: the value of {words} comes out at {value:.4f}, and "
                "it cannot be negative. The click model or the exposure is wrong."
            )


def worse_than_production(off_policy: Mapping[str, Any] | None) -> Iterator[str]:
    """Whether clicks that nothing was chosen by say that the policy is worse."""
    if off_policy is None:
        return
    found = off_policy["difference"]
    high = found.get("high")
    if high is not None and high < -ROUNDING:
        yield (
            f"By {off_policy['n_interactions']:,} held-out interactions the new policy "
            f"is worse than production: {found['value']:+.4f} "
            f"({found['confidence']:.0%} interval {found['low']:+.4f} to {high:+.4f}). "
            "Stay with production."
        )
