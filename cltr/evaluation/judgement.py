"""Everything that is said of what is served: metrics on labels, and certificates."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cltr.errors import NotFiniteError
from cltr.evaluation.certificate import Basis, certificate
from cltr.evaluation.metrics import Grades, MetricOptions, MetricValues, measure
from cltr.extensions import Metric
from cltr.interfaces import Estimator
from cltr.policies import Deterministic
from cltr.policies.on_dataset import AppliedPolicy, Mixture, ScoredPolicy
from cltr.types import Booleans, Floats


def label_metrics(
    served: Mapping[str, Mixture],
    skyline: Mapping[str, ScoredPolicy],
    *,
    top_k: int,
    options: MetricOptions,
    further: Sequence[Metric] = (),
) -> dict[str, MetricValues]:
    """Metrics on true labels, of test and of training queries; None where one is unknown.

    Args:
        served: what users get, by split.
        skyline: the upper reference by split; empty if there is none.
        top_k: the cut.
        options: how labels are read.
        further: metrics to report beside those that are always reported.
    """

    def value(
        policy: AppliedPolicy | None, queries: Booleans | None, grades: Grades
    ) -> MetricValues:
        if policy is None:
            return {f"ndcg@{top_k}": None}
        return measure(
            policy, top_k=top_k, options=options, queries=queries, further=further, grades=grades
        )

    metrics: dict[str, MetricValues] = {}
    for split, prefix in (("test", ""), ("train", "train_")):
        here = served[split]
        grades = Grades(here.dataset, options, top_k)
        rivals: dict[str, AppliedPolicy | None] = {"production": here.production}
        if isinstance(here.production, ScoredPolicy):
            rivals["production_sorted"] = replace(here.production, policy=Deterministic())
        rivals |= {"policy": here}
        rivals |= {"skyline": skyline[split]} if skyline else {}
        for who, policy in rivals.items():
            values = value(policy, None if here.production is None else here.known, grades)
            metrics.setdefault(who, {}).update({prefix + key: v for key, v in values.items()})
    return metrics


def certificates(
    served: Mapping[str, Mixture],
    rank_weights: Mapping[str, Floats],
    estimator: Estimator,
    *,
    bases: Mapping[str, Basis],
) -> dict[str, Any]:
    """Certificates by split for the reported metric, and below its name for the training one.

    None for a split on which production is not known.

    Args:
        served: what users get, by split.
        rank_weights: of ``dcg`` and of the training metric, by name.
        estimator: says which documents lie outside its band, if it has one.
        bases: what the certificate of each split rests on.
    """
    found = {
        name: {
            split: certificate(served[split], weights, estimator, metric=name, basis=bases[split])
            if served[split].production is not None
            else None
            for split in ("train", "test")
        }
        for name, weights in rank_weights.items()
    }
    result: dict[str, Any] = found.pop("dcg")
    return result | found


def require_finite(judged: Mapping[str, Any]) -> None:
    """Refuse a result whose metrics, values or certificates are NaN or infinite.

    Args:
        judged: metrics, off-policy values and certificates; None stands for what is not known.
    """
    certificate = judged.get("certificate", {})
    off_policy = judged.get("off_policy", {})
    numbers = {
        f"{name} of {who}": value
        for who, values in judged.get("metrics", {}).items()
        for name, value in values.items()
    }
    for who in ("production", "policy", "difference"):
        numbers[f"off-policy value of {who}"] = off_policy.get(who, {}).get("value")
    for split in ("train", "test"):
        numbers[f"certificate on {split} queries"] = (certificate.get(split) or {}).get(
            "worst_loss"
        )
    for what, value in numbers.items():
        if value is not None and not math.isfinite(value):
            raise NotFiniteError(
                f"evaluation: the {what} is {value}; scores, rewards and labels are finite, but "
                "too large to compute with: use labels, rewards and features of a smaller scale"
            )
