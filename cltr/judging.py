"""[7] What a policy is worth and what it may cost: on judgements, by clicks, at worst."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cltr.components import Components
from cltr.config import RunConfig
from cltr.evaluation import Counted, Scored, Served, certificate, known_queries
from cltr.interfaces import ClickModel
from cltr.measures import measure
from cltr.metrics import rank_weights
from cltr.offpolicy import estimate_value
from cltr.policies import PlackettLuce
from cltr.production import Production
from cltr.training import LoggedQueries, score
from cltr.types import ClickData, Dataset, Floats, Rewards

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Rewarded:
    """Both splits with their clicks, exposure and rewards: all that training and values need."""

    ranks: Floats
    data: dict[str, ClickData]
    rewards: dict[str, Rewards]

    def logged(self, split: str) -> LoggedQueries:
        """A split ready for training."""
        data = self.data[split]
        weights = data.statistics.query_weights
        return LoggedQueries(data.dataset, self.rewards[split].values, data.exposure, weights)


def evaluate(
    config: RunConfig,
    parts: Components,
    dataset: Dataset,
    production: Production,
    module: "torch.nn.Module",
    *,
    skyline: "torch.nn.Module | None" = None,
    blend: float = 1.0,
    rewarded: Rewarded | None = None,
) -> dict[str, Any]:
    """[7] Metrics, certificates and off-policy values of a policy.

    Args:
        config: of the run.
        parts: of the run.
        dataset: judged, or the lists of a log that stands alone.
        production: what is known of it.
        module: the policy's.
        skyline: a module to compare with.
        blend: share of the policy in what is served.
        rewarded: clicks for the off-policy value; without, there is none.
    """
    served = serve(config, parts, dataset, production, module, blend=blend)
    found: dict[str, Any] = {}
    if dataset.judged:
        found["metrics"] = judge(config, parts, dataset, served, module, skyline=skyline)
    if rewarded is not None:
        found["off_policy"] = off_policy(served["valid"], rewarded)
    if not dataset.judged:
        found["metrics"] = {
            who: {"value": found["off_policy"][who]["value"]} for who in ("production", "policy")
        }
    return found | {"certificate": certificates(config, parts, served)}


def serve(
    config: RunConfig,
    parts: Components,
    dataset: Dataset,
    production: Production,
    module: "torch.nn.Module",
    *,
    blend: float = 1.0,
) -> dict[str, Served]:
    """What users would get, on every split with queries on which production is known."""
    scores = score(module, dataset)
    metrics = tuple(reported_weights(config, parts.click_model).values())
    served = {}
    for split in dataset.splits:
        logging = production.on(dataset, split)
        if known_queries(logging).any():
            new = Scored(logging.dataset, scores[dataset.documents_of(split)], parts.ranker.policy)
            served[split] = Served(new, logging, parts.estimator, metrics, blend)
    return served


def judge(
    config: RunConfig,
    parts: Components,
    dataset: Dataset,
    served: dict[str, Served],
    module: "torch.nn.Module",
    *,
    skyline: "torch.nn.Module | None" = None,
) -> dict[str, dict[str, float | None]]:
    """Metrics on judgements, of test and of training queries; None where one is not known."""

    def rivals(split: str) -> Iterator[tuple[str, Scored | Counted | Served | None]]:
        part, rows = dataset.part(split), dataset.documents_of(split)
        here = served.get(split)
        yield "production", here.production if here else None
        yield "policy", here or Scored(part, score(module, dataset)[rows], parts.ranker.policy)
        if skyline is not None:
            yield "skyline", Scored(part, score(skyline, dataset)[rows], PlackettLuce())

    metrics: dict[str, dict[str, float | None]] = {}
    for split, prefix in (("test", ""), ("train", "train_")):
        part = dataset.part(split)
        queries = known_queries(served[split].production) if split in served else None
        for who, policy in rivals(split):
            values: dict[str, float | None] = {f"ndcg@{config.top_k}": None}
            if policy is not None:
                values = measure(
                    policy, part, top_k=config.top_k, options=config.evaluation, queries=queries
                )
            metrics.setdefault(who, {}).update({prefix + key: v for key, v in values.items()})
    return metrics


def off_policy(served: Served, rewarded: Rewarded) -> dict[str, Any]:
    """[7] Values by validation clicks, by the reward without any clipping; no judgements needed."""
    lists = served.new.dataset.lists
    values, shares = rewarded.rewards["valid"].values, rewarded.data["valid"].statistics
    logging, new = (policy.weights(rewarded.ranks) for policy in (served.production, served))

    def value(weights: Floats) -> dict[str, Any]:
        return estimate_value(weights, values, lists, shares.query_weights).plain()

    return {
        "split": "valid",
        "reward": rewarded.rewards["valid"].source,
        "n_interactions": shares.n_interactions,
        "production": value(logging),
        "policy": value(new),
        "difference": value(new - logging),
    }


def reported_weights(config: RunConfig, click_model: ClickModel) -> dict[str, Floats]:
    """Rank weights of the reported metric, and of the training metric where it differs."""
    names = dict.fromkeys(["dcg", config.metric])
    return {name: rank_weights(name, config.top_k, click_model) for name in names}


def certificates(config: RunConfig, parts: Components, served: dict[str, Served]) -> dict[str, Any]:
    """Certificates by split for the reported metric, and below its name for the training metric.

    None for a split on which production is not known.
    """
    found = {
        name: {
            split: certificate(served[split], ranks) if split in served else None
            for split in ("train", "test")
        }
        for name, ranks in reported_weights(config, parts.click_model).items()
    }
    result: dict[str, Any] = found.pop("dcg")
    return result | found
