"""A log made ready to judge candidates by: parts, click model, production, health checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from cltr.data import loading
from cltr.errors import DataError
from cltr.evaluation.bounds import ClusterTotals, diagnose_clusters
from cltr.evaluation.certificate import Basis
from cltr.evaluation.dependence import Dependence, pool
from cltr.evaluation.part import Fold
from cltr.experiment.components import Components, build
from cltr.experiment.config import AUTO, RunConfig
from cltr.experiment.experiment import Experiment
from cltr.experiment.log_folds import FoldMaker
from cltr.experiment.run_log import cut_clicks, fit_to_log, open_run_log, own_data
from cltr.health.outcome import HealthCheck
from cltr.interfaces import ClickModel
from cltr.options import Choice
from cltr.types import Dataset, Floats

Clicks: TypeAlias = Literal["test", "all"]
"""Which clicks judge a candidate: those of the test part, or all, for one made without them."""
NO_OTHERS = "No other click model could be fitted, so the sign of the gain was not compared."
BY_TRAFFIC = (
    "In the worst case, queries count by their traffic in this log. For simulated clicks 'cltr "
    "train' counts all queries equally, so its worst case can differ."
)
STAND_IN = "pbm"
"""What stands for a click model until it is fitted."""


@dataclass(frozen=True)
class JudgedLog:
    """What candidates are judged by."""

    experiment: Experiment
    folds: tuple[Fold, ...]
    checks: tuple[HealthCheck, ...]
    traffic: Mapping[str, Floats]
    """P(q) by split, ``[queries]``, from all parts of the log that lie on its lists."""
    notes: tuple[str, ...]
    """What the results rest on, one sentence each."""
    click_model: str
    """What the click model is called."""
    other_folds: Mapping[str, tuple[Fold, ...]]
    """The folds under other click models that can be fitted, by what these are called."""

    @property
    def data(self) -> str | None:
        """What the user called the data set; None if the log stands alone or nobody named it."""
        config = self.experiment.config
        return config.data if "data" in config.model_fields_set else None

    @property
    def splits(self) -> tuple[str, ...]:
        """Splits that a candidate must be known on."""
        used = (part.split for fold in self.folds for part in (fold.fit, fold.held_out))
        return tuple(dict.fromkeys(used))

    @property
    def judged_splits(self) -> tuple[str, ...]:
        """Splits with clicks that judge candidates."""
        return tuple(dict.fromkeys(fold.held_out.split for fold in self.folds))

    @property
    def dependence(self) -> Dependence:
        """Which of the held-out interactions depend on each other."""
        return pool([fold.held_out.units.dependence for fold in self.folds])

    @property
    def n_interactions(self) -> int:
        """Interactions that judge candidates."""
        return sum(fold.held_out.units.n_interactions for fold in self.folds)

    def independence(self) -> dict[str, Any]:
        """What is independent for these queries and for new ones, and how many there are."""
        units = [fold.held_out for fold in self.folds]
        queries = np.concatenate([part.units.queries + part.first_query for part in units])
        counts = np.concatenate([part.units.counts for part in units])
        by_query = np.bincount(queries, counts).astype(np.float64)
        return {
            "these_queries": self.dependence.kind,
            "n_these_queries": self.dependence.n_clusters or len(counts),
            "n_new_queries": int((by_query > 0).sum()),
            "largest_query_share": float(by_query.max() / by_query.sum()),
            "one_query_dominates": diagnose_clusters(ClusterTotals(by_query, by_query)).dominated,
            "same_queries_in_training": self.experiment.dataset.shared,
        }

    def basis(self, split: str) -> Basis:
        """What the worst case on a split rests on."""
        source = self.experiment.production.source
        return Basis(source, self.traffic[split], self.experiment.config.evaluation.empty)


def open_judged_log(
    config: RunConfig, *, clicks: Clicks = "test", dataset: Dataset | None = None
) -> JudgedLog:
    """Open a log, fit its click model, and examine it.

    Args:
        config: names the log, its data set, click model, ranks, exposure and seed.
        clicks: which clicks judge candidates.
        dataset: that of the log, if it is open already.
    """
    config = _fit_to_log(config)
    dataset = dataset or own_data(config) or loading.load_dataset(config.data)
    components = Components(config, click_model=_given_model(config))
    log = open_run_log(config, dataset, _given_model(config))
    statistics = cut_clicks(log.statistics, config.top_k)
    if clicks == "test" and "test" not in statistics:
        raise DataError(
            f"{config.log}: the log has no test part; ingest it again (--test-share), or use "
            "--clicks all if the candidate was made without the clicks of this log"
        )
    experiment = Experiment(config, components, dataset, log.production, by_traffic=True)
    pairs = [("train", "test")]
    if clicks == "all":
        later = [split for split in ("valid", "test") if split in statistics]
        pairs = [*(("train", split) for split in later), ("valid", "train")]
    maker = FoldMaker(experiment, statistics, pairs)
    folds, others = maker.folds(), maker.other_folds()
    if not others:
        maker.notes.append(NO_OTHERS)
    if log.simulated:
        maker.notes.append(BY_TRAFFIC)
    return JudgedLog(
        experiment,
        folds,
        checks=tuple(maker.examine()),
        traffic=maker.traffic(),
        notes=(*log.assumptions, *maker.notes, *_shared_users(folds)),
        click_model=_name(config, maker.model("train")),
        other_folds=others,
    )


def _shared_users(folds: Sequence[Fold]) -> list[str]:
    """Whether those whose clicks judge a candidate also helped to make the estimates."""
    shares = []
    for fold in folds:
        judging, other = (part.units.dependence for part in (fold.held_out, fold.fit))
        if judging.clusters is not None and other.clusters is not None:
            shares.append(float(np.isin(judging.clusters, other.clusters).mean()))
    if not shares or max(shares) == 0:
        return []
    kind = folds[0].held_out.units.dependence.kind
    return [
        f"{max(shares):.1%} of the held-out interactions are of {kind} "
        "whose other clicks fitted the click model and the relevance estimates; --split-by user "
        "of cltr ingest keeps users apart."
    ]


def _name(config: RunConfig, model: ClickModel) -> str:
    return f"{model.name}, fitted" if config.click_model.name == AUTO else config.click_model.name


def _fit_to_log(config: RunConfig) -> RunConfig:
    """The ranks that the log shows; a click model that is to be fitted has values for all."""
    chosen = config.click_model
    known = Choice(name=STAND_IN) if chosen.name == AUTO else chosen
    fitting = fit_to_log(config.model_copy(update={"click_model": known}))
    return fitting.model_copy(update={"click_model": chosen})


def _given_model(config: RunConfig) -> ClickModel:
    """The click model that the configuration names; one to be replaced where it is ``auto``."""
    name = STAND_IN if config.click_model.name == AUTO else config.click_model.name
    choice = Choice(name=name, **config.click_model.options)
    model: ClickModel = build("click-model", choice)
    return model


def log_config(
    log: Path,
    *,
    data: str | None = None,
    click_model: str = AUTO,
    top_k: int | None = None,
    seed: int = 1,
    production: Path | None = None,
    exposure: str = "auto",
) -> RunConfig:
    """The choices of an evaluation, as a run file has them.

    Args:
        log: the log file.
        data: the data set that it lies on; none if it stands alone.
        click_model: by name, ``fitted:FILE``, or ``auto`` to fit one.
        top_k: ranks to look at; those of the log, at most 10, by default.
        seed: decides every random choice.
        production: a file with production's scores.
        exposure: how production's exposure is known.
    """
    values = {
        "log": str(log),
        "data": data,
        "click_model": {"name": click_model},
        "top_k": top_k,
        "seed": seed,
        "production_scores": None if production is None else str(production),
        "exposure": exposure,
        "estimator": {"name": "plain"},
        "reward": {"name": "naive"},
    }
    given = {key: value for key, value in values.items() if value is not None}
    return RunConfig.parse(given, owner="")
