"""Candidates judged by a log: estimates side by side, and what to do with one of them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cltr.evaluation.bounds import union_confidence
from cltr.evaluation.candidate import reference_policies
from cltr.evaluation.certificate import worst_case
from cltr.evaluation.gain_bounds import gain_lower, gain_upper
from cltr.evaluation.gate import Gain, GateEvidence, decide_gate
from cltr.evaluation.metrics import MetricValues, measure
from cltr.evaluation.part import Weights
from cltr.evaluation.side_by_side import EstimateRow, Support, estimate_rows, support_of
from cltr.evaluation.verdict import Verdict
from cltr.experiment.candidates import CandidateRanker
from cltr.experiment.config import AUTO
from cltr.experiment.judged_log import JudgedLog
from cltr.experiment.seeds import seed_for
from cltr.health.outcome import with_outcome
from cltr.policies.on_dataset import AppliedPolicy

ESTIMATOR = "DR"
"""Whose estimate of the gain is told beside its bounds."""


@dataclass(frozen=True)
class JudgedCandidate:
    """All that a log says about one candidate."""

    candidate: CandidateRanker
    rows: tuple[EstimateRow, ...]
    support: Support
    gain: Gain
    worst_loss: float
    """Most that NDCG can fall, as a share, whatever users find relevant."""
    metrics: MetricValues | None
    """On judgements; None if there are none."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        report = self.candidate.report
        return {
            "candidate": self.candidate.name,
            "serving": self.candidate.serving,
            "scores": None if report is None else report.plain(),
            "notes": [] if report is None else report.sentences(),
            "estimates": [row.plain() for row in self.rows],
            "support": self.support.plain(),
            "gain": asdict(self.gain),
            "worst_case_loss": self.worst_loss,
            "metrics": None if self.metrics is None else dict(self.metrics),
        }


def judge_candidate(
    judged: JudgedLog,
    candidate: CandidateRanker,
    *,
    confidence: float = 0.95,
    n_candidates: int = 1,
) -> JudgedCandidate:
    """Estimates, bounds, worst case and metrics of one candidate.

    Args:
        judged: the log.
        candidate: on its lists.
        confidence: of the bounds of all candidates together, one-sided.
        n_candidates: that are compared; all bounds hold together.
    """
    experiment = judged.experiment
    each = union_confidence(confidence, comparisons=n_candidates)
    seed = seed_for(experiment.config.seed, "held-out")
    all_weights = [
        Weights.of(fold, candidate.served, experiment.rank_weights) for fold in judged.folds
    ]
    rows = estimate_rows(all_weights, confidence=each, seed=seed)
    low = gain_lower(all_weights, confidence=each, seed=seed)
    high = gain_upper(all_weights, confidence=each, seed=seed)
    told = next(row for row in rows if row.estimator == ESTIMATOR)
    why = low.no_bound_because or high.no_bound_because
    gain = Gain(
        told.difference,
        told.error,
        None if low.no_bound_because else low.bound,
        None if high.no_bound_because else high.bound,
        each,
        judged.n_interactions,
        why,
    )
    return JudgedCandidate(
        candidate,
        tuple(rows),
        support_of(all_weights),
        gain,
        _worst_loss(judged, candidate),
        _metrics(judged, candidate.served),
    )


def _worst_loss(judged: JudgedLog, candidate: CandidateRanker) -> float:
    """On the splits that judge candidates; the largest where there are several."""
    experiment = judged.experiment
    name = f"ndcg@{experiment.config.top_k}"
    weights = experiment.reported_weights["dcg"]
    return max(
        float(
            worst_case(candidate.served[split], weights, metric="dcg", basis=judged.basis(split))[
                name
            ]["loss"]
        )
        for split in judged.judged_splits
    )


def _metrics(judged: JudgedLog, served: Any) -> MetricValues | None:
    """On the judgements of the first split that judges candidates."""
    split = judged.judged_splits[0]
    policy: AppliedPolicy = served[split]
    if not policy.dataset.judged:
        return None
    config = judged.experiment.config
    return measure(policy, top_k=config.top_k, options=config.evaluation, queries=None)


def references(judged: JudgedLog) -> list[CandidateRanker]:
    """Production sorted and uniform rankings, for orientation."""
    logging = judged.experiment.logging
    by_split = {split: reference_policies(logging[split]) for split in judged.splits}
    names = list(next(iter(by_split.values())))
    return [
        CandidateRanker(
            name, {split: found[name] for split, found in by_split.items()}, "reference"
        )
        for name in names
    ]


def decide(judged: JudgedLog, found: JudgedCandidate, *, max_loss: float) -> Verdict:
    """What to do with a candidate."""
    failed, unclear = (with_outcome(judged.checks, one) for one in ("fail", "inconclusive"))
    doubts = [check.sentence for check in (*failed, *unclear)]
    evidence = GateEvidence(
        found.gain,
        found.worst_loss,
        doubts,
        estimated_exposure=judged.experiment.production.source == "counted",
    )
    return decide_gate(evidence, max_loss=max_loss)


def judge_candidates(
    judged: JudgedLog, candidates: Sequence[CandidateRanker], *, confidence: float = 0.95
) -> dict[str, Any]:
    """All candidates side by side, for JSON.

    Args:
        judged: the log.
        candidates: their number is fixed by this list; their bounds hold together.
        confidence: of all bounds together, one-sided.
    """
    n = len(candidates)
    found = [
        judge_candidate(judged, one, confidence=confidence, n_candidates=n) for one in candidates
    ]
    others = [judge_candidate(judged, one, confidence=confidence) for one in references(judged)]
    production = _metrics(judged, judged.experiment.logging)
    config = judged.experiment.config
    return {
        "log": config.log,
        "top_k": config.top_k,
        "metric": config.metric,
        "n_interactions": judged.n_interactions,
        "units": judged.folds[0].held_out.units.kind,
        "confidence": confidence,
        "click_model": _click_model(judged),
        "exposure": judged.experiment.production.source,
        "candidates": [one.plain() for one in found],
        "references": [one.plain() for one in others],
        "production_metrics": None if production is None else dict(production),
        "checks": [check.plain() for check in judged.checks],
        "assumptions": list(judged.notes),
    }


def _click_model(judged: JudgedLog) -> str:
    """The click model's name, and whether it was fitted."""
    name = judged.experiment.config.click_model.name
    return "fitted to this log" if name == AUTO else name
