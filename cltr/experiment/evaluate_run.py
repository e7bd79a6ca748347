"""Judge a finished run again: on its own or another data set, possibly blended."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cltr.data import loading
from cltr.errors import CltrError, UsageError
from cltr.evaluation.certificate import blend_for_loss
from cltr.evaluation.metrics import MetricOptions
from cltr.experiment.alerts import alerts_of, misfit_of, warnings_of
from cltr.experiment.changes_file import run_changes
from cltr.experiment.config import RunConfig
from cltr.experiment.experiment import Experiment
from cltr.experiment.hand_over import load_policy
from cltr.experiment.initial_model import new_model
from cltr.experiment.label_training import production_scorer
from cltr.experiment.provenance import (
    KEYS,
    RANKS,
    SCORES,
    changed_plugins,
    check_data,
    components_of,
    describe,
    open_data,
    read_config,
)
from cltr.experiment.query_policies import QueryPolicies, policies_of_run
from cltr.experiment.run_folder import RunFolder
from cltr.experiment.run_log import open_run_log
from cltr.exposure.production_ranker import Production
from cltr.interfaces import Model
from cltr.looks import POINT
from cltr.policies.on_dataset import Mixture
from cltr.training.score_documents import score
from cltr.types import Dataset, Rewards

ROUNDING = 1e-9
"""By which a certificate of the same rankings may differ."""


def evaluate(
    path: Path,
    *,
    data: str | Dataset | None = None,
    blend_to_loss: float | None = None,
    measures: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Judge a finished run again; as :func:`evaluate_with_changes`, without the changes."""
    return evaluate_with_changes(path, data=data, blend_to_loss=blend_to_loss, measures=measures)[0]


def evaluate_with_changes(
    path: Path,
    *,
    data: str | Dataset | None = None,
    blend_to_loss: float | None = None,
    measures: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Judge a finished run again, on its own or another data set, possibly blended.

    Also what changes for users, None if that is not known.

    Args:
        path: the run's folder.
        data: another data set, by its name or opened.
        blend_to_loss: mix with production so that NDCG falls by at most this at worst; 0.02 is
            two points.
        measures: options of metrics in place of the run's (``MetricOptions``).
    """
    if blend_to_loss is not None and not 0.0 <= blend_to_loss <= 1.0:
        raise UsageError(f"blend_to_loss is {blend_to_loss}: it must lie between 0 and 1")
    finished = _open(path, data, measures or {})
    experiment, rewards = finished.experiment, finished.rewards
    blend = 1.0
    if blend_to_loss is not None:
        blend = _blend(experiment, finished.serve(), rewards, blend_to_loss)
    served = finished.serve(blend=blend)
    judged = experiment.judge(served, rewards=rewards)
    if rewards is not None and "seen_by_training" not in finished.earlier.get("off_policy", {}):
        judged["off_policy"]["seen_by_training"] = True  # version 0.1 chose by all of these clicks
    as_stored = data is None and blend_to_loss is None and not measures
    result = {
        **_said_before(finished),
        **_told(finished, judged, as_stored=as_stored),
        "data": _name(experiment, data),
        **judged,
        "blend": blend,
        "run": str(path),
    }
    return result, run_changes(experiment, served, rewards)


@dataclass(frozen=True)
class _Finished:
    """A finished run, opened on a data set to be judged again."""

    experiment: Experiment
    model: Model
    own: QueryPolicies | None
    """Policies of single queries; None if the run has a model only."""
    rewards: Mapping[str, Rewards] | None
    """Of the run's log; None without one, or on another data set."""
    earlier: Mapping[str, Any]
    """What the run said."""

    def serve(self, *, blend: float = 1.0) -> Mapping[str, Mixture]:
        """What users would get, the new policy with this share."""
        return self.experiment.serve(self.model, own=self.own, blend=blend)


def _open(path: Path, data: str | Dataset | None, measures: Mapping[str, Any]) -> _Finished:
    folder = RunFolder.open(path)
    config = read_config(folder)
    given = config.evaluation.model_dump() | dict(measures)
    chosen = MetricOptions.parse(given, owner="evaluation")
    config = config.model_copy(update={"evaluation": chosen})
    components = components_of(folder, config)
    earlier = folder.read_json("result.json")
    if data is None:
        config, dataset = open_data(config)
        check_data(folder, config, dataset)
    else:
        dataset = loading.load_dataset(data)
    model = new_model(components.scorer, dataset)
    load_policy(folder, model, dataset)
    production = load_production(config, folder, dataset, elsewhere=data is not None)
    log = None
    if config.log and data is None:
        log = open_run_log(config, dataset, components.click_model)
    by_traffic = log is not None and not log.simulated
    experiment = Experiment(config, components, dataset, production, by_traffic=by_traffic)
    experiment = experiment.but(plan=earlier.get("plan", "learn"))
    experiment.prepare(earlier["n_interactions"], earlier.get("n_queries", 0))
    rewards = None if log is None else experiment.reward(log.statistics)
    own = policies_of_run(folder, experiment, model, elsewhere=data is not None)
    return _Finished(experiment, model, own, rewards, earlier)


def _said_before(finished: _Finished) -> dict[str, Any]:
    """What the run is, and what it said that does not change."""
    experiment, kept = finished.experiment, ("exposure", "users", "n_interactions", "assumptions")
    return {
        **describe(experiment.config, experiment.components),
        **{key: finished.earlier[key] for key in kept if key in finished.earlier},
    }


def _name(experiment: Experiment, data: str | Dataset | None) -> Any:
    """What to call the data set."""
    if data is None:
        return experiment.config.data
    return data if isinstance(data, str) else experiment.dataset.name


def _told(finished: _Finished, judged: Mapping[str, Any], *, as_stored: bool) -> dict[str, Any]:
    """Alerts and warnings; if nothing else is asked, whether stored rankings are what they were."""
    experiment, earlier = finished.experiment, finished.earlier
    told = _warned(experiment, earlier, finished.rewards, judged)
    told["alerts"] = [
        *told["alerts"],
        *changed_plugins(experiment.config, experiment.components),
    ]
    if as_stored and finished.own is not None:
        changed = [*_changed(earlier, judged, experiment.config.top_k)]
        told |= {"alerts": [*told["alerts"], *changed], "certificate_confirmed": not changed}
    return told


def _warned(
    experiment: Experiment,
    earlier: Mapping[str, Any],
    rewards: Mapping[str, Rewards] | None,
    judged: Mapping[str, Any],
) -> dict[str, Any]:
    """Alerts and warnings about what is served now, from the clicks or from the run's own test."""
    components, log = experiment.components, experiment.config.log
    if rewards is None and "misfit" not in earlier and earlier.get("warnings"):
        old = "This run was made by version 0.1, which warned of the click model. Train again."
        return {"alerts": [], "warnings": [old], "misfit": None}
    misfit = earlier.get("misfit") if rewards is None else misfit_of(components, rewards)
    alerts = earlier.get("alerts", []) if rewards is None else alerts_of(rewards, judged)
    warnings = warnings_of(components, misfit, judged["certificate"], log=log)
    return {"alerts": alerts, "warnings": warnings, "misfit": misfit}


def _changed(earlier: Mapping[str, Any], judged: Mapping[str, Any], top_k: int) -> Iterator[str]:
    """Where stored rankings have another certificate than the run said."""
    for split in ("train", "test"):
        before, now = (told["certificate"].get(split) for told in (earlier, judged))
        if not before or not now:
            continue
        was, found = (one["worst_case"][f"ndcg@{top_k}"] for one in (before, now))
        for key, whose in (("loss", split), ("largest_query", f"the worst query, {split}")):
            if not abs(found[key] - was[key]) <= ROUNDING:
                yield (
                    f"The stored rankings can lose {100 * found[key]:.4f} points of NDCG@{top_k} "
                    f"({whose}; {POINT}), not {100 * was[key]:.4f} as the run says: its files were "
                    "changed. Train again."
                )
                break


def _blend(
    experiment: Experiment,
    served: Mapping[str, Mixture],
    rewards: Mapping[str, Rewards] | None,
    ndcg_loss: float,
) -> float:
    """Largest share of the new policy that keeps the worst-case loss on every certified split."""
    bases = experiment.bases(rewards)
    weights = experiment.reported_weights["dcg"]
    return min(
        blend_for_loss(served[split], weights, ndcg_loss=ndcg_loss, basis=bases[split])
        for split in ("train", "test")
        if served[split].production is not None
    )


def load_production(
    config: RunConfig, folder: RunFolder, dataset: Dataset, *, elsewhere: bool
) -> Production:
    """Production's scores as they were in the run; on another data set, from its weights."""
    if not elsewhere:
        known = {
            name: folder.load_scores(name, n_documents=dataset.n_documents, key=KEYS[name])
            for name in (SCORES, RANKS)
            if (folder.path / name).exists()
        }
        if not known:
            raise CltrError(f"{folder.path / SCORES}: no such file; the run is not finished")
        source = folder.read_json("result.json").get("exposure", "exact")
        return Production(known.get(SCORES), rank_distribution=known.get(RANKS), source=source)
    if config.log:
        raise CltrError(
            f"{folder.path}: the run knows production only by its scores in the log; so production "
            "cannot be scored on other data"
        )
    scorer = production_scorer(config)
    model = new_model(scorer, dataset)
    folder.load_model("production.safetensors", model)
    return Production(score(model, dataset), scorer.name, model)
