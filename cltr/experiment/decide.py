"""The verdict on a run, from its checks, its estimates and its worst case."""

from collections.abc import Mapping, Sequence
from typing import Any

from cltr.evaluation.advice import SPLITS_TOLD
from cltr.evaluation.verdict import LEVELS, Verdict, canary_share
from cltr.health.outcome import HealthCheck, with_outcome


def decide(
    judged: Mapping[str, Any], checks: Sequence[HealthCheck], *, stayed: bool, top_k: int
) -> Verdict:
    """What to do with the policy of a run.

    Args:
        judged: of :meth:`cltr.experiment.experiment.Experiment.judge`.
        checks: all that were made, before and after training.
        stayed: whether the run kept production.
        top_k: cut of the metric, for the sentence.
    """
    failed, unclear = with_outcome(checks, "fail"), with_outcome(checks, "inconclusive")
    loss = _worst_loss(judged["certificate"], top_k)
    numbers = {} if loss is None else {"worst_case_loss": loss}
    found = judged.get("off_policy")
    if found is not None:
        numbers |= {
            key: value
            for key, value in found["difference"].items()
            if key in ("value", "low", "high") and value is not None
        }
    if stayed:
        return _hold([*failed, *unclear], numbers)
    reasons = tuple(check.sentence for check in (*failed, *unclear))
    gain, low, high = (numbers.get(key) for key in ("value", "low", "high"))
    if gain is None or found is None:
        return Verdict("hold", 0, "Keep production: the clicks give no estimate.", reasons, numbers)
    told = _estimate(found)
    if high is not None and high < 0:
        sentence = f"Do not deploy: the new policy is worse than production, {told}."
        return Verdict("reject", 2, sentence, reasons, numbers)
    if gain <= 0:
        sentence = f"Keep production: no gain was found, {told}."
        return Verdict("hold", 2, sentence, reasons, numbers)
    if low is not None and low > 0 and not reasons:
        sentence = f"Deploy: the new policy is better than production, {told}.{_at_worst(loss)}"
        return Verdict("deploy", 2, sentence, reasons, numbers, share=1.0)
    share = 0.0 if loss is None else canary_share(loss)
    why = "a check is inconclusive" if reasons else "the gain may be chance"
    sentence = (
        f"Try the new policy in a canary on {share:.1%} of the requests: {why}; {told}."
        f"{_at_worst(loss, share)}"
    )
    return Verdict("canary", 0, sentence, reasons, numbers, share=share)


def _hold(checks: Sequence[HealthCheck], numbers: Mapping[str, float]) -> Verdict:
    reasons = tuple(f"{check.sentence} {check.advice}".strip() for check in checks)
    names = ", ".join(check.name for check in checks)
    first = f"{checks[0].sentence} (Checks: {names}.)" if checks else "Nothing was learned."
    kept = {key: value for key, value in numbers.items() if key == "worst_case_loss"}
    return Verdict("hold", 0, f"Keep production. {first}", reasons, kept)


def _estimate(found: Mapping[str, Any]) -> str:
    difference = found["difference"]
    low, high = difference.get("low"), difference.get("high")
    interval = "no interval" if low is None or high is None else f"{low:+.4f} to {high:+.4f}"
    return (
        f"estimated difference {difference['value']:+.4f} (95 % interval {interval}, "
        f"{found['n_interactions']:,} held-out interactions, {LEVELS[2]})"
    )


def _worst_loss(certificate: Mapping[str, Any], top_k: int) -> float | None:
    """Of what is served on test queries, or on training queries where these are not certified."""
    for split in SPLITS_TOLD:
        if certificate.get(split):
            return float(certificate[split]["worst_case"][f"ndcg@{top_k}"]["loss"])
    return None


def _at_worst(loss: float | None, share: float = 1.0) -> str:
    if loss is None:
        return ""
    return f" At worst NDCG falls by {100 * share * loss:.1f} points, {LEVELS[0]}."
