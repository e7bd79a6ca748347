"""Policies of single queries beside the trained model: made, stored, read back.

A ranker or an estimator may give every query a policy of its own (``cltr.interfaces.PerQuery``).
A ranker does so for logged queries. An estimator that enforces a bound does so for all queries that
production is known on: logged ones by their rewards, others by the mean rewards at their documents'
ranks. What is stored is what is certified and served.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cltr.errors import DataError
from cltr.experiment.run_folder import RunFolder
from cltr.files.arrays import read_arrays, write_arrays
from cltr.interfaces import Model, PerQuery, QueryTask
from cltr.objectives.rank_rewards import RankRewards
from cltr.policies.query_rankings import QueryRankings
from cltr.training.score_documents import score
from cltr.types import Booleans, Dataset, Floats, Integers, Lists, Rewards

if TYPE_CHECKING:
    from cltr.experiment.experiment import Experiment

RANKINGS, RULE = "rankings.safetensors", "other-queries.json"


@dataclass(frozen=True)
class QueryPolicies:
    """Policies of the queries of a data set, and the rule for others.

    Attributes:
        rankings: of all queries of the data set; a query may have none.
        bounded: whether they keep the estimator's bound as they are.
        rule: rewards by rank for other queries; None if these get what the model says.
    """

    rankings: QueryRankings
    bounded: bool
    rule: RankRewards | None = None

    def save(self, folder: RunFolder) -> None:
        """Write rankings and rule into the folder of a run."""
        with folder.writing(RANKINGS) as partial:
            write_arrays(partial, self.rankings.arrays())
        rule = {} if self.rule is None else self.rule.plain()
        folder.write_json(RULE, {"version": 1, "bounded": self.bounded, **rule})


def read_policies(folder: RunFolder, dataset: Dataset) -> QueryPolicies | None:
    """What a run stored; None if it has a model only.

    Args:
        folder: of the run.
        dataset: that the run was trained on.
    """
    if not (folder.path / RANKINGS).exists():
        return None
    place = folder.path / RANKINGS
    try:
        rankings = QueryRankings.parse(read_arrays(place), dataset.lists)
    except (KeyError, ValueError, IndexError) as error:
        raise DataError(f"{place}: not the rankings of the run's queries: {error}") from error
    bounded, rule = _read_rule(folder)
    return QueryPolicies(rankings, bounded, rule)


def read_rule(folder: RunFolder) -> RankRewards | None:
    """The rule of a run for queries that it has not seen; None if there is none."""
    return _read_rule(folder)[1] if (folder.path / RULE).exists() else None


def _read_rule(folder: RunFolder) -> tuple[bool, RankRewards | None]:
    values: Mapping[str, Any] = folder.read_json(RULE)
    try:
        rule = RankRewards.parse(values) if "rewards" in values else None
        return bool(values["bounded"]), rule
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder.path / RULE}: not a rule for other queries: {error}") from error


def make_policies(
    experiment: "Experiment", model: Model, rewards: Mapping[str, Rewards]
) -> QueryPolicies | None:
    """Policies of a run's queries; None if neither its estimator nor its ranker makes any.

    Args:
        experiment: of the run.
        model: that was trained.
        rewards: of training queries, and of validation queries for the rule.
    """
    components = experiment.components
    if experiment.plan == "stay":
        return None
    if isinstance(components.estimator, PerQuery):
        rule = _rule(experiment, model, rewards["valid"])
        return _bounded_policies(experiment, model, rule, rewards)
    if isinstance(components.ranker, PerQuery):
        return _best_policies(experiment, components.ranker, rewards["train"])
    return None


def policies_of_run(
    folder: RunFolder, experiment: "Experiment", model: Model, *, elsewhere: bool
) -> QueryPolicies | None:
    """Policies of single queries as a run serves them; None if it has a model only.

    Args:
        folder: of the run.
        experiment: of the run, on the data set that is looked at.
        model: that was trained.
        elsewhere: whether this is another data set, so that the run's rule decides.
    """
    if not elsewhere:
        return read_policies(folder, experiment.dataset)
    rule = read_rule(folder)
    return None if rule is None else _bounded_policies(experiment, model, rule)


def rankings_by_rule(
    estimator: PerQuery, rule: RankRewards, scores: Floats, task: QueryTask
) -> QueryRankings:
    """Rankings of queries without clicks, each within the bound alone.

    Args:
        estimator: that enforces the bound.
        rule: rewards by rank.
        scores: of the trained model, ``[docs]``.
        task: the queries; rewards and traffic are not looked at.
    """
    task = replace(task, rewards=rule.at(scores, task.lists), each=True)
    return QueryRankings.of(estimator.query_weights(task), task.lists, task.rank_weights)


def _rule(experiment: "Experiment", model: Model, valid: Rewards) -> RankRewards:
    scores = score(model, experiment.dataset)[experiment.dataset.documents_of(valid.split)]
    return RankRewards.of(scores, valid)


def _best_policies(experiment: "Experiment", ranker: PerQuery, logged: Rewards) -> QueryPolicies:
    """The ranker's own policies of the logged queries."""
    chosen = (logged.query_weights > 0) & experiment.logging[logged.split].known
    part = _Part.of(experiment, logged.split, logged.values, chosen, logged.query_weights)
    return QueryPolicies(_rankings(experiment, ranker, [part]), bounded=False)


def _bounded_policies(
    experiment: "Experiment",
    model: Model,
    rule: RankRewards,
    rewards: Mapping[str, Rewards] | None = None,
) -> QueryPolicies:
    """The estimator's own policies of all queries that production is known on."""
    dataset, estimator = experiment.dataset, experiment.components.estimator
    assert isinstance(estimator, PerQuery)
    scores, bases = score(model, dataset), experiment.bases(rewards)
    parts = []
    for split in dataset.splits:
        known = experiment.logging[split].known
        values = rule.at(scores[dataset.documents_of(split)], dataset.part(split).lists)
        traffic, each = np.zeros(len(known)), True
        if rewards is not None and (split == "train" or dataset.shared):
            values, each = rewards["train"].values, bases[split].empty == "skip"
            traffic[known] = bases[split].shares(known)
        parts.append(_Part.of(experiment, split, values, known, traffic, each=each))
    makers = parts
    if dataset.shared:  # one policy of each query must do for all parts of the log
        most = np.max([part.task.traffic for part in parts], axis=0)
        makers = [replace(parts[0], task=replace(parts[0].task, traffic=most))]
    rankings = _rankings(experiment, estimator, makers)
    kept = all(
        part.kept(estimator, rankings.weights(dataset.lists, experiment.rank_weights))
        for part in parts
    )
    return QueryPolicies(rankings, kept, rule)


def _rankings(experiment: "Experiment", maker: PerQuery, parts: Sequence["_Part"]) -> QueryRankings:
    dataset = experiment.dataset
    weights, chosen = np.zeros(dataset.n_documents), np.zeros(dataset.n_queries, np.bool_)
    for part in parts:
        weights[part.rows] = maker.query_weights(part.task)
        chosen[part.queries] = True
    return QueryRankings.of(weights, dataset.lists, experiment.rank_weights, chosen)


@dataclass(frozen=True)
class _Part:
    """The queries of a split that get a policy of their own."""

    queries: Integers
    """In the whole data set."""
    rows: Integers
    """Of their documents in the whole data set."""
    task: QueryTask

    @classmethod
    def of(
        cls,
        experiment: "Experiment",
        split: str,
        rewards: Floats,
        chosen: Booleans,
        traffic: Floats,
        *,
        each: bool = False,
    ) -> "_Part":
        dataset, weights = experiment.dataset, experiment.rank_weights
        lists = dataset.part(split).lists
        rows, lengths = np.flatnonzero(np.repeat(chosen, lists.lengths)), lists.lengths[chosen]
        task = QueryTask(
            experiment.components.estimator,
            rewards[rows],
            experiment.logging[split].weights(weights)[rows],
            Lists(np.cumsum(lengths) - lengths, lengths),
            weights,
            traffic[chosen],
            each,
        )
        first = dataset.splits[split][0]
        begin = dataset.documents_of(split).start
        return cls(first + np.flatnonzero(chosen), begin + rows, task)

    def kept(self, maker: PerQuery, weights: Floats) -> bool:
        """Whether weights of all documents keep the bound here."""
        return maker.kept(weights[self.rows], self.task)
