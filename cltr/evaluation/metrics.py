r"""Metrics on judgements, in expectation under a policy: NDCG, DCG, precision, recall and more.

NDCG, DCG, precision and recall are linear in a document's expected rank weights. The reciprocal
rank of the first relevant document is not, but under Plackett-Luce it is exact all the same: the
first of the relevant documents arrives like one document with the sum of their rates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field

from cltr.extensions import Metric
from cltr.options import Choice, Options
from cltr.policies import Deterministic
from cltr.policies.on_dataset import AppliedPolicy
from cltr.policies.rank_weights import rank_weights
from cltr.types import Booleans, Dataset, Floats, Lists

MetricValues: TypeAlias = dict[str, float | None]
"""Means over queries by metric; None where one is unknown."""
PerQuery: TypeAlias = dict[str, Floats | None]
"""Values by metric, ``[queries]`` each: NaN where a query has none, None where unknown."""


def _choices(value: Any) -> Any:
    """Names, or tables of a name and options; one or several."""
    several = value if isinstance(value, list | tuple) else [value]
    return [{"name": one} if isinstance(one, str) else one for one in several]


class MetricOptions(Options):
    """How judgements are read; the defaults are the paper's."""

    gain: Literal["linear", "exponential"] = Field(
        "linear",
        description=(
            "gain of a grade g in NDCG and DCG: linear is g, as in the paper; exponential "
            "is 2^g - 1."
        ),
    )
    empty: Literal["zero", "skip", "one"] = Field(
        "zero",
        description="NDCG, recall and MRR of a query without relevant documents: zero, as in the "
        "paper; skip leaves it out of the mean; one, as in LightGBM.",
    )
    ties: Literal["order", "expected"] = Field(
        "order",
        description="equal scores of a ranker that sorts: order keeps the order of the data, "
        "expected takes the mean over all orders.",
    )
    relevant_from: float = Field(
        1.0,
        gt=0,
        description=("lowest grade that counts as relevant in precision, recall, MRR and ranks."),
    )
    metrics: Annotated[tuple[Choice, ...], BeforeValidator(_choices)] = Field(
        (), description="further metrics to report, such as err,rbp, with their options."
    )


@dataclass(frozen=True)
class Grades:
    """The grades of a data set as metrics read them: worked out once for all policies."""

    dataset: Dataset
    options: MetricOptions
    top_k: int

    @cached_property
    def gains(self) -> Floats:
        """Of each document, ``[docs]``."""
        labels = self.dataset.labels.astype(np.float64, copy=False)
        return labels if self.options.gain == "linear" else np.exp2(labels) - 1.0

    @cached_property
    def relevant(self) -> Booleans:
        """Documents that count as relevant, ``[docs]``."""
        return np.asarray(self.dataset.labels >= self.options.relevant_from)

    @cached_property
    def relevant_in_query(self) -> Floats:
        """How many of each query's are, ``[queries]``."""
        return self.dataset.lists.sum(self.relevant.astype(np.float64))

    @cached_property
    def graded(self) -> Booleans:
        """Queries with a grade above 0, ``[queries]``."""
        return np.asarray(self.dataset.lists.sum(self.dataset.labels) > 0)

    @cached_property
    def ideal(self) -> Floats:
        """DCG of the ideal ranking, ``[queries]``."""
        return _ideal(self.gains, self.dataset.lists, self.top_k)


def measure(
    policy: AppliedPolicy,
    *,
    top_k: int,
    options: MetricOptions | None = None,
    queries: Booleans | None = None,
    further: Sequence[Metric] = (),
    grades: Grades | None = None,
) -> MetricValues:
    """Mean over queries of every metric: all judged queries, or those of them that are given.

    Metrics are None where no such query has judgements.

    Args:
        policy: on the documents of a data set.
        top_k: the cut, but for the average rank, which looks at whole lists.
        options: how judgements are read.
        queries: which to average over.
        further: metrics to report beside those that are always reported.
        grades: of these documents, where several policies share them; they also say the cut and
            how judgements are read.

    Example:
        >>> from cltr.policies.on_dataset import ScoredPolicy
        >>> from cltr.testing import tiny_dataset
        >>> data = tiny_dataset(8).part("train")
        >>> best = ScoredPolicy(data, data.labels, Deterministic())
        >>> measure(best, top_k=5, options=MetricOptions(empty="one"))["ndcg@5"]
        1.0
    """
    dataset = policy.dataset
    grades = grades or Grades(dataset, options or MetricOptions(), top_k)
    found = _per_query(policy, grades, further)
    relevant = grades.relevant_in_query > 0
    judged = dataset.judged_queries
    chosen = judged if queries is None else judged & queries
    none_judged = dataset.n_queries > 0 and not judged.any()
    means: MetricValues = {}
    for name, values in found.items():
        filled = grades.graded if name == "ndcg" else relevant
        key = name if name == "average_rank" else f"{name}@{grades.top_k}"
        if values is None or none_judged:
            means[key] = None
        else:
            means[key] = _mean(name, values, filled, chosen, grades.options.empty)
    return means


def _mean(
    name: str, values: Floats, filled: Booleans, chosen: Booleans, empty: str
) -> float | None:
    if name == "average_rank" or (empty == "skip" and name in ("ndcg", "recall", "mrr")):
        kept = values[chosen & filled]
        return float(kept.mean()) if len(kept) else None
    if name in ("ndcg", "recall", "mrr"):
        values = np.where(filled, values, 1.0 if empty == "one" else 0.0)
    return float(values[chosen].mean()) if chosen.any() else 0.0


def _per_query(policy: AppliedPolicy, grades: Grades, further: Sequence[Metric]) -> PerQuery:
    """Of a mixture of policies the expectation is the mixture."""

    def of_part(part: AppliedPolicy) -> PerQuery:
        part = part.with_ties(grades.options.ties)
        asked = {metric.name: metric.values(part, top_k=grades.top_k) for metric in further}
        return _of_part(part, grades) | asked

    (share, first), *others = policy.parts
    mixed = of_part(first)
    for other_share, other in others:
        found = of_part(other)
        mixed = {name: _sum(share, mixed[name], other_share, found[name]) for name in mixed}
    return mixed


def _sum(
    share: Floats, values: Floats | None, other_share: Floats, others: Floats | None
) -> Floats | None:
    if values is None or others is None:
        return None
    return share * values + other_share * others


def _of_part(policy: AppliedPolicy, grades: Grades) -> PerQuery:
    lists, relevant, top_k = grades.dataset.lists, grades.relevant, grades.top_k
    weights, shown = policy.several_weights([rank_weights("dcg", top_k), np.ones(top_k)])
    reached, found = lists.sum(grades.gains * weights), lists.sum(relevant * shown)
    return {
        "ndcg": _share(reached, grades.ideal),
        "dcg": reached,
        "precision": found / top_k,
        "recall": found / np.maximum(grades.relevant_in_query, 1.0),
        "mrr": policy.first_weights(relevant, rank_weights("reciprocal-rank", top_k)),
        "average_rank": _average_ranks(policy, lists, relevant),
    }


def _average_ranks(policy: AppliedPolicy, lists: Lists, relevant: Booleans) -> Floats | None:
    """Mean expected rank of the relevant documents, in the whole list; NaN where none is."""
    rows = np.flatnonzero(relevant)
    ranks = policy.expected_ranks(rows)
    if ranks is None:
        return None
    n = len(lists.lengths)
    sums = np.bincount(lists.owners[rows], ranks, minlength=n)
    counts = np.bincount(lists.owners[rows], minlength=n)
    return np.asarray(np.divide(sums, counts, out=np.full(n, np.nan), where=counts > 0))


def ideal_weights(labels: Floats, lists: Lists, weights: Floats) -> Floats:
    """The weight each document has in the ideal ranking by falling label, ``[docs]``."""
    return Deterministic().expected_weights(labels, lists, weights)


def expected_ndcg(weights: Floats, gains: Floats, lists: Lists, *, top_k: int) -> Floats:
    r"""Expected NDCG@k of every query under a policy, ``[queries]``; 0 without a gain.

    Args:
        weights: :math:`\omega` for ``dcg`` weights cut at ``top_k``, ``[docs]``.
        gains: of the documents' grades, ``[docs]``; the grades themselves in the paper.
        lists: where each query's documents lie.
        top_k: the cut.
    """
    return _share(lists.sum(gains * weights), _ideal(gains, lists, top_k))


def _ideal(gains: Floats, lists: Lists, top_k: int) -> Floats:
    return lists.sum(gains * ideal_weights(gains, lists, rank_weights("dcg", top_k)))


def _share(reached: Floats, ideal: Floats) -> Floats:
    return np.divide(reached, ideal, out=np.zeros(len(ideal)), where=ideal > 0)
