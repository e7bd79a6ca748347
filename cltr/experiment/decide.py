"""The verdict on a run, from its checks, its estimates and its worst case."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cltr.evaluation.advice import SPLITS_TOLD
from cltr.evaluation.gate import Gain, GateEvidence, decide_gate
from cltr.evaluation.off_policy import CONFIDENCE
from cltr.evaluation.verdict import Verdict
from cltr.health.outcome import HealthCheck, with_outcome

GATE = (
    "These bounds are approximate. Those of `cltr gate` hold for any number of interactions, so "
    "ask it too before you deploy."
)
"""Why a run and the gate can differ."""


def decide(
    judged: Mapping[str, Any], checks: Sequence[HealthCheck], *, stayed: bool, top_k: int
) -> Verdict:
    """What to do with the policy of a run: as the gate decides, but a run without a gain holds.

    Args:
        judged: of :meth:`cltr.experiment.experiment.Experiment.judge`.
        checks: all that were made, before and after training.
        stayed: whether the run kept production.
        top_k: cut of the metric, for the sentence.
    """
    failed, unclear = with_outcome(checks, "fail"), with_outcome(checks, "inconclusive")
    loss = _worst_loss(judged["certificate"], top_k)
    if stayed:
        numbers = {} if loss is None else {"worst_case_loss": loss}
        return _hold([*failed, *unclear], numbers)
    gain = _gain(judged.get("off_policy"))
    doubts = [check.sentence for check in (*failed, *unclear)]
    verdict = decide_gate(GateEvidence(gain, loss, doubts))
    if gain is None:
        sentence = "Keep production: the clicks give no estimate."
        return Verdict("hold", 0, sentence, verdict.reasons, verdict.numbers)
    if gain.value <= 0 and verdict.decision != "reject":
        sentence = f"Keep production: no gain was found; {gain.sentence()}."
        return Verdict("hold", 2, sentence, verdict.reasons, verdict.numbers)
    if (verdict.decision, verdict.trust) == ("deploy", 2):
        return replace(verdict, sentence=f"{verdict.sentence} {GATE}")
    return verdict


def _gain(found: Mapping[str, Any] | None) -> Gain | None:
    """The estimated difference to production; both ends of its interval are bounds."""
    if found is None or found["difference"].get("value") is None:
        return None
    difference = found["difference"]
    return Gain(
        difference["value"],
        difference.get("standard_error"),
        difference.get("low"),
        difference.get("high"),
        (1 + CONFIDENCE) / 2,
        found["n_interactions"],
        difference.get("no_interval_because"),
    )


def _hold(checks: Sequence[HealthCheck], numbers: Mapping[str, float]) -> Verdict:
    reasons = tuple(f"{check.sentence} {check.advice}".strip() for check in checks)
    names = ", ".join(check.name for check in checks)
    first = f"{checks[0].sentence} (Checks: {names}.)" if checks else "Nothing was learned."
    kept = {key: value for key, value in numbers.items() if key == "worst_case_loss"}
    return Verdict("hold", 0, f"Keep production. {first}", reasons, kept)


def _worst_loss(certificate: Mapping[str, Any], top_k: int) -> float | None:
    """Of what is served on test queries, or on training queries where these are not certified."""
    for split in SPLITS_TOLD:
        if certificate.get(split):
            return float(certificate[split]["worst_case"][f"ndcg@{top_k}"]["loss"])
    return None
