"""Candidates judged by a log: estimates side by side, and what to do with one of them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cltr.evaluation.bounds import union_confidence
from cltr.evaluation.candidate import reference_policies
from cltr.evaluation.certificate import worst_case
from cltr.evaluation.gain_bounds import estimated_gain, gain_lower, gain_upper, queries_of
from cltr.evaluation.gate import Gain, GateEvidence, decide_gate
from cltr.evaluation.metrics import MetricValues, measure
from cltr.evaluation.part import Weights
from cltr.evaluation.side_by_side import EstimateRow, Support, estimate_rows, support_of
from cltr.evaluation.verdict import Verdict
from cltr.experiment.candidates import CandidateRanker
from cltr.experiment.judged_log import JudgedLog
from cltr.experiment.other_models import candidate_gains_by_model, check_sign
from cltr.experiment.seeds import seed_for
from cltr.health.outcome import HealthCheck, with_outcome
from cltr.policies.on_dataset import AppliedPolicy


@dataclass(frozen=True)
class CandidateEvidence:
    """What a decision about a candidate rests on."""

    gain: Gain
    worst_loss: float
    """Most that NDCG can fall, as a share, whatever users find relevant."""
    checks: tuple[HealthCheck, ...]
    """Of the log."""
    other_gains: tuple[dict[str, Any], ...] = ()
    """The gain under other click models."""
    left_out: int = 0
    """Documents of the candidate that the log does not know for their query."""
    is_table: bool = False
    """Whether the candidate is a table of scores, which may have been made without the log."""
    sign: HealthCheck | None = None
    """Whether these agree on the sign of the gain; None if there are none."""

    @property
    def all_checks(self) -> tuple[HealthCheck, ...]:
        """Of the log and of this candidate."""
        return self.checks if self.sign is None else (*self.checks, self.sign)


@dataclass(frozen=True)
class JudgedCandidate:
    """All that a log says about one candidate."""

    candidate: CandidateRanker
    evidence: CandidateEvidence
    rows: tuple[EstimateRow, ...]
    support: Support
    metrics: MetricValues | None
    """On judgements; None if there are none."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        report, found = self.candidate.report, self.evidence
        return {
            "candidate": self.candidate.name,
            "serving": self.candidate.serving,
            "scores": None if report is None else report.plain(),
            "notes": [] if report is None else report.sentences(),
            "estimates": [row.plain() for row in self.rows],
            "support": self.support.plain(),
            "gain": asdict(found.gain),
            "other_click_models": list(found.other_gains),
            "worst_case_loss": found.worst_loss,
            "metrics": None if self.metrics is None else dict(self.metrics),
            "sign_of_the_gain": None if found.sign is None else found.sign.plain(),
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
    each = union_confidence(confidence, comparisons=n_candidates)
    weights = weigh(judged, candidate)
    evidence = gather_evidence(judged, candidate, weights, confidence=each)
    rows = estimate_rows(weights, evidence.gain.low, confidence=each, seed=_seed(judged))
    return JudgedCandidate(
        candidate,
        evidence,
        tuple(rows),
        support_of(weights),
        _metrics(judged, candidate.served),
    )


def weigh(judged: JudgedLog, candidate: CandidateRanker) -> list[Weights]:
    """Expected weights of candidate and production, fold by fold."""
    rank_weights = judged.experiment.rank_weights
    return [Weights.of(fold, candidate.served, rank_weights) for fold in judged.folds]


def gather_evidence(
    judged: JudgedLog,
    candidate: CandidateRanker,
    weights: Sequence[Weights],
    *,
    confidence: float = 0.95,
) -> CandidateEvidence:
    """All that :func:`decide` needs.

    Args:
        judged: the log.
        candidate: on its lists.
        weights: of :func:`weigh`.
        confidence: of each bound, one-sided.
    """
    gain = _gain(judged, weights, confidence)
    others = candidate_gains_by_model(
        judged.other_folds, weights, confidence=confidence, seed=_seed(judged)
    )
    sign = check_sign(judged.click_model, {"value": gain.value}, others) if others else None
    worst_loss = _worst_loss(judged, candidate)
    report = candidate.report
    return CandidateEvidence(
        gain,
        worst_loss,
        judged.checks,
        tuple(others),
        left_out=0 if report is None else report.unknown_documents,
        is_table=report is not None,
        sign=sign,
    )


def _gain(judged: JudgedLog, weights: Sequence[Weights], confidence: float) -> Gain:
    """The gain by DR, and its bounds."""
    totals, seed = estimated_gain(weights), _seed(judged)
    low = gain_lower(weights, confidence=confidence, seed=seed)
    high = gain_upper(weights, confidence=confidence, seed=seed)
    error, query_error = (
        clusters.error(totals.sums, totals.counts)
        for clusters in (judged.dependence, queries_of(weights))
    )
    return Gain(
        totals.value,
        error,
        None if low.no_bound_because else low.bound,
        None if high.no_bound_because else high.bound,
        confidence,
        judged.n_interactions,
        low.no_bound_because or high.no_bound_because,
        query_error,
    )


def _seed(judged: JudgedLog) -> int:
    return seed_for(judged.experiment.config.seed, "held-out")


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


def decide(judged: JudgedLog, found: CandidateEvidence, *, max_loss: float) -> Verdict:
    """What to do with a candidate."""
    failed, unclear = (with_outcome(found.all_checks, one) for one in ("fail", "inconclusive"))
    doubts = [check.sentence for check in (*failed, *unclear)]
    evidence = GateEvidence(
        found.gain,
        found.worst_loss,
        doubts,
        estimated_exposure=judged.experiment.production.source == "counted",
        left_out=found.left_out,
        whole_log_is_left=found.is_table and len(judged.folds) == 1,
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
        "data": judged.data,
        "top_k": config.top_k,
        "metric": config.metric,
        "n_interactions": judged.n_interactions,
        "units": judged.folds[0].held_out.units.kind,
        "independent": judged.independence(),
        "confidence": confidence,
        "click_model": judged.click_model,
        "exposure": judged.experiment.production.source,
        "candidates": [one.plain() for one in found],
        "references": [one.plain() for one in others],
        "production_metrics": None if production is None else dict(production),
        "checks": [check.plain() for check in judged.checks],
        "assumptions": list(judged.notes),
    }
