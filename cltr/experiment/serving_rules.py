"""The serving rule of a run: what was certified is what it serves."""

from collections.abc import Iterator

from cltr.experiment.experiment import Experiment
from cltr.experiment.query_policies import QueryPolicies
from cltr.interfaces import Enforced, Model, Policy
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.query_rankings import QueryRankings
from cltr.serving.rule import Order, ServingRule, StoredRanking
from cltr.types import Dataset


def serving_rule(
    experiment: Experiment,
    model: Model,
    *,
    own: QueryPolicies | None = None,
    share: float = 1.0,
) -> ServingRule | None:
    """How the run's policy is served, with the share of each query; None if no rule can.

    Where the estimator enforces a bound, a query that was not there gets production: the share
    that keeps the bound on it is not known.

    Args:
        experiment: of the run.
        model: what was learned.
        own: policies of single queries, which are stored in the rule.
        share: of the requests that should get the new policy now, by the run's verdict.
    """
    new = _order(experiment.components.ranker.policy)
    production = experiment.production
    old = _order(production.policy) if production.rank_distribution is None else "sorted"
    if new is None or old is None:
        return None
    top_k, dataset = experiment.config.top_k, experiment.dataset
    rankings = {} if own is None else dict(stored_rankings(own.rankings, dataset))
    if not isinstance(experiment.components.estimator, Enforced):
        return ServingRule(share, new, old, top_k, rankings=rankings)
    shares: dict[str, float] = {}
    for split in experiment.serve(model, own=own).values():
        ids, known = split.dataset.query_ids.astype(str), split.known
        kept = (share * split.share[known]).tolist()
        shares |= dict(zip(ids[known].tolist(), kept, strict=True))
    return ServingRule(0.0, new, old, top_k, shares, rankings)


def stored_rankings(
    rankings: QueryRankings, dataset: Dataset
) -> Iterator[tuple[str, tuple[StoredRanking, ...]]]:
    """Rankings of each query that has some, with the ids of its documents."""
    names = dataset.document_ids.astype(str)
    rows, shares = rankings.rows(dataset.lists), rankings.shares.tolist()
    offsets, queries = rankings.offsets.tolist(), dataset.query_ids.astype(str).tolist()
    for number, query in enumerate(queries):
        here = range(offsets[number], offsets[number + 1])
        if here:
            yield (
                query,
                tuple(
                    StoredRanking(shares[one], tuple(names[rows[one][rows[one] >= 0]].tolist()))
                    for one in here
                ),
            )


def _order(policy: Policy) -> Order | None:
    names: dict[type, Order] = {PlackettLuce: "sampled", Deterministic: "sorted"}
    return names.get(type(policy))
