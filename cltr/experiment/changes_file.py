"""What a run or a gate keeps for its page: what changes for users, and the clicks by rank."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cltr.clicks.bias import affine_of
from cltr.clicks.misfit import linear_relevance
from cltr.evaluation.certificate import Basis
from cltr.evaluation.changed_queries import by_risk, by_traffic
from cltr.evaluation.changes import ServedChange, by_frequency, group_rows, totals
from cltr.evaluation.segments import segments
from cltr.evaluation.trade_off import trade_off
from cltr.experiment.candidates import CandidateRanker
from cltr.experiment.experiment import Experiment
from cltr.experiment.judged_log import JudgedLog
from cltr.logs.stored_sessions import interactions_of
from cltr.policies.on_dataset import Mixture
from cltr.types import Affine, ClickStatistics, Floats, Rewards

CHANGES = "changes.json"
"""The file of a run that says what changes for users: the queries that change most, and sums."""


def run_changes(
    experiment: Experiment,
    served: Mapping[str, Mixture],
    rewards: Mapping[str, Rewards] | None,
) -> dict[str, Any] | None:
    """What the policy of a run changes, on the queries that its value is reported on.

    Args:
        experiment: with its click model.
        served: what users would get, by split.
        rewards: of clicks by split; None without clicks.

    Returns:
        None where nothing is known of production.
    """
    reported = None if rewards is None else rewards.get("test", rewards["valid"])
    split = "test" if reported is None else reported.split
    if served[split].production is None:
        return None
    basis = experiment.bases(rewards)[split]
    change = ServedChange(
        served[split],
        experiment.reported_weights["dcg"],
        experiment.rank_weights,
        None if reported is None else reported.values,
        None if reported is None else reported.statistics,
        basis.traffic,
    )
    affine = affine_of(experiment.components.click_model, experiment.config.top_k)
    return _changes(experiment, change, split, basis, affine)


def candidate_changes(judged: JudgedLog, candidate: CandidateRanker) -> dict[str, Any]:
    """What a candidate changes, on the first split whose clicks judge it."""
    fold, experiment = judged.folds[0], judged.experiment
    part, basis = fold.held_out, judged.basis(fold.held_out.split)
    change = ServedChange(
        candidate.served[part.split],
        experiment.reported_weights["dcg"],
        experiment.rank_weights,
        part.doubly_robust,
        part.statistics,
        basis.traffic,
    )
    return _changes(experiment, change, part.split, basis, part.affine)


def _changes(
    experiment: Experiment, change: ServedChange, split: str, basis: Basis, affine: Affine | None
) -> dict[str, Any]:
    statistics = change.statistics
    sessions = interactions_of(experiment.config.log, split, top_k=experiment.config.top_k)
    return {
        "version": 1,
        "split": split,
        "top_k": experiment.config.top_k,
        "metric": experiment.config.metric,
        "interactions": None if statistics is None else statistics.n_interactions,
        "query_weights": "traffic" if change.statistics is not None else "equal",
        **totals(change),
        "trade_off": trade_off(change, only_largest=basis.empty == "skip"),
        "by_traffic": by_traffic(change),
        "by_risk": by_risk(change),
        "groups": group_rows(change, by_frequency(change)) if statistics is not None else [],
        "segments": None if sessions is None else segments(change, sessions()),
        "click_rates": None if statistics is None else click_rates(statistics, affine),
    }


def click_rates(statistics: ClickStatistics, affine: Affine | None) -> dict[str, Any]:
    """Impressions and clicks by rank, and the clicks that the click model expects there.

    The relevance of each document comes from its clicks at all ranks, so only ranks differ.

    Args:
        statistics: of held-out clicks.
        affine: of the click model; None if it has no such form.
    """
    expected: Floats | None = None
    if affine is not None:
        shown = statistics.impressions.astype(np.float64)  # whole numbers multiply slowly
        relevance = linear_relevance(statistics, affine)
        expected = affine.examination * (relevance @ shown) + affine.trust * shown.sum(0)
    return {
        "impressions": statistics.impressions.sum(0).tolist(),
        "clicks": statistics.clicks.sum(0).tolist(),
        "expected_clicks": None if expected is None else np.asarray(expected).tolist(),
    }
