"""The facts that carry a verdict, taken from a result of any kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cltr.evaluation.advice import SPLITS_TOLD
from cltr.evaluation.verdict import BUDGET
from cltr.report.page.subject import Subject


@dataclass(frozen=True)
class GainFact:
    """A gain over production, by held-out clicks and the click model."""

    value: float
    low: float | None
    high: float | None
    confidence: float
    one_sided: bool
    n_interactions: int
    why_no_interval: str | None

    @property
    def interval_words(self) -> str:
        """What the interval is called."""
        if self.one_sided:
            return f"bounds, each with {self.confidence:.0%} confidence"
        return f"{self.confidence:.0%} interval"


@dataclass(frozen=True)
class Facts:
    """What the top of a page tells."""

    decision: str | None
    """None where a result measures and does not decide."""
    sentence: str
    reasons: Sequence[str]
    share: float | None
    worst_loss: float | None
    gain: GainFact | None
    top_k: int
    metric: str
    max_loss: float
    """The budget that the decision was made with."""
    exposure: str
    """How production's exposure is known."""

    @property
    def ndcg(self) -> str:
        """The reported metric."""
        return f"NDCG@{self.top_k}"

    @property
    def estimated_metric(self) -> str:
        """The metric that clicks estimate."""
        return f"{self.metric.upper()}@{self.top_k}"


def facts_of(subject: Subject) -> Facts:
    """The facts of a run, an evaluation, a gate or a canary."""
    result = subject.judged
    advice = result.get("advice", result)
    if subject.kind == "canary":
        advice = subject.result
    decision = advice.get("decision")
    return Facts(
        decision=decision,
        sentence=_sentence(subject, advice),
        reasons=tuple(advice.get("reasons", ())),
        share=None if decision is None else float(advice.get("share", 0.0)),
        worst_loss=worst_loss(result),
        gain=gain_of(result),
        top_k=int(result["top_k"]),
        metric=str(result.get("metric", "dcg")),
        max_loss=float(result.get("max_loss", BUDGET)),
        exposure=str(result.get("exposure", "")),
    )


def _sentence(subject: Subject, advice: Mapping[str, Any]) -> str:
    if subject.kind == "canary":
        return f"Show the candidate to {advice['share']:.2%} of the requests now."
    if "sentence" in advice:
        return str(advice["sentence"])
    several = subject.kind == "candidates" and len(subject.result["candidates"]) > 1
    what = "candidates" if several else "ranker"
    return f"This page measures the {what} and does not decide. 'cltr gate' decides."


def worst_loss(result: Mapping[str, Any]) -> float | None:
    """The most that NDCG can fall, whatever users find relevant; as the verdict takes it."""
    if "worst_case_loss" in result:
        return float(result["worst_case_loss"])
    certificate = result.get("certificate", {})
    for split in SPLITS_TOLD:
        if certificate.get(split):
            case = certificate[split].get("worst_case", {}).get(f"ndcg@{result['top_k']}")
            return None if case is None else float(case["loss"])
    return None


def gain_of(result: Mapping[str, Any]) -> GainFact | None:
    """The estimated gain of a run or of a candidate; None without an estimate."""
    if result.get("gain"):
        found = result["gain"]
        return GainFact(
            found["value"],
            found["low"],
            found["high"],
            found["confidence"],
            one_sided=True,
            n_interactions=found["n_interactions"],
            why_no_interval=found["no_bound_because"],
        )
    off_policy = result.get("off_policy")
    if off_policy is None or off_policy["difference"].get("value") is None:
        return None
    found = off_policy["difference"]
    return GainFact(
        found["value"],
        found.get("low"),
        found.get("high"),
        found.get("confidence", 0.95),
        one_sided=False,
        n_interactions=off_policy["n_interactions"],
        why_no_interval=found.get("no_interval_because"),
    )
