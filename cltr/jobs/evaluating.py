"""A finished run judged again: on its own or another data set, possibly blended."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cltr import pipeline
from cltr.components import compose
from cltr.config import RunConfig
from cltr.errors import CltrError
from cltr.evaluation import blend_for_loss
from cltr.jobs.described import RANKS, SCORES, check_data, describe, open_data, read_config
from cltr.logged import read_logged
from cltr.pipeline import Production
from cltr.runs import RunFolder
from cltr.training import score
from cltr.types import Dataset


def evaluate(
    path: Path,
    *,
    data: str | None = None,
    blend_to_loss: float | None = None,
    measures: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Judge a finished run again, on its own or another data set, possibly blended.

    Args:
        path: the run's folder.
        data: another data set.
        blend_to_loss: mix with production so that the worst loss is at most this.
        measures: options of metrics in place of the run's (``MeasureOptions``).
    """
    folder = RunFolder.open(path)
    config = read_config(folder)
    chosen = config.evaluation.model_copy(update=dict(measures or {}))
    config = config.model_copy(update={"evaluation": chosen})
    parts = compose(config)
    earlier = folder.read_json("result.json")
    pipeline.prepare(config, parts, n_interactions=earlier["n_interactions"])
    if data is None:
        config, dataset = open_data(config)
        check_data(folder, config, dataset)
    else:
        dataset = pipeline.load_data(data)
    module = pipeline.new_module(parts.scorer, dataset, seed=0)
    folder.load_module("policy.safetensors", module)
    production = _load_production(config, folder, dataset, elsewhere=data is not None)
    rewarded = None
    if config.log and data is None:
        statistics = read_logged(config, dataset, parts.click_model).statistics
        rewarded = pipeline.reward_clicks(config, parts, dataset, production, statistics)
    blend = 1.0
    if blend_to_loss is not None:
        served = pipeline.serve(config, parts, dataset, production, module)
        ranks = pipeline.reported_weights(config, parts.click_model)["dcg"]
        blend = min(
            blend_for_loss(served[split], ranks, worst_loss=blend_to_loss)
            for split in ("train", "test")
            if split in served
        )
    judged = pipeline.evaluate(
        config, parts, dataset, production, module, blend=blend, rewarded=rewarded
    )
    return {
        **describe(config, parts),
        **{
            key: earlier[key]
            for key in ("exposure", "users", "n_interactions", "assumptions", "warnings")
            if key in earlier
        },
        "data": data or config.data,
        **judged,
        "blend": blend,
        "run": str(path),
    }


def _load_production(
    config: RunConfig, folder: RunFolder, dataset: Dataset, *, elsewhere: bool
) -> Production:
    """Production's scores as they were in the run; on another data set, from its weights."""
    if not elsewhere:
        known = {
            name: folder.load_scores(name, n_documents=dataset.n_documents)
            for name in (SCORES, RANKS)
            if (folder.path / name).exists()
        }
        if not known:
            raise CltrError(f"{folder.path / SCORES}: no such file; the run is not finished")
        source = folder.read_json("result.json").get("exposure", "exact")
        return Production(known.get(SCORES), ranks=known.get(RANKS), source=source)
    if config.log:
        raise CltrError(
            f"{folder.path}: the run knows production only by its scores in the log; "
            "it cannot be scored on other data"
        )
    scorer = pipeline.production_scorer(config)
    module = pipeline.new_module(scorer, dataset, seed=0)
    folder.load_module("production.safetensors", module)
    return Production(score(module, dataset), scorer.name, module)
