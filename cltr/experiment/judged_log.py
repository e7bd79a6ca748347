"""A log made ready to judge candidates by: parts, click model, production, health checks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from cltr.clicks.choose_model import choose_click_model
from cltr.data import loading
from cltr.errors import CltrError, DataError
from cltr.evaluation.certificate import Basis
from cltr.evaluation.click_model_error import ClickModelError
from cltr.evaluation.part import Fold, LogPart
from cltr.evaluation.units import units_of
from cltr.experiment.components import Components, build
from cltr.experiment.config import AUTO, RunConfig
from cltr.experiment.experiment import Experiment
from cltr.experiment.run_log import cut_clicks, fit_to_log, open_run_log, own_data
from cltr.experiment.seeds import seed_for
from cltr.health.checkup import examine, no_model
from cltr.health.outcome import HealthCheck
from cltr.interfaces import ClickModel
from cltr.options import Choice
from cltr.plugins import registry
from cltr.types import ClickData, ClickStatistics, Dataset, Floats, Rewards

Clicks: TypeAlias = Literal["test", "all"]
"""Which clicks judge a candidate: those of the test part, or all, for one made without them."""
PRIOR_TRIALS = 5.0
"""Examined impressions that the mean relevance is worth beside a document's own clicks."""
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
    def n_interactions(self) -> int:
        """Interactions that judge candidates."""
        return sum(fold.held_out.units.n_interactions for fold in self.folds)

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
        others = [split for split in ("valid", "test") if split in statistics]
        pairs = [*(("train", split) for split in others), ("valid", "train")]
    maker = _Maker(experiment, statistics)
    folds = tuple(maker.fold(*pair) for pair in pairs)
    notes = (*log.assumptions, *maker.notes)
    checks = tuple(maker.examine())
    return JudgedLog(experiment, folds, checks, maker.traffic(), notes)


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


class _Maker:
    """Makes folds; a click model is fitted once for each part that it is fitted to."""

    def __init__(self, experiment: Experiment, statistics: Mapping[str, ClickStatistics]) -> None:
        self.experiment, self.statistics = experiment, statistics
        self.notes: list[str] = []
        self.models: dict[str, ClickModel | None] = {}
        self.reasons: dict[str, str] = {}
        self.estimates: dict[str, dict[str, Floats]] = {}

    def model(self, split: str) -> ClickModel:
        """Given, or fitted to the clicks of one part."""
        config = self.experiment.config
        if config.click_model.name != AUTO:
            return self.experiment.components.click_model
        if split not in self.models:
            choice = choose_click_model(
                self.statistics[split], seed=seed_for(config.seed, "held-out")
            )
            self.models[split] = choice.model
            self.notes += choice.sentences
            self.reasons[split] = choice.sentences[0]
        found = self.models[split]
        if found is None:
            raise DataError(
                f"{config.log}: {self.reasons[split]} Give the click model (--click-model)."
            )
        return found

    def fold(self, fit: str, held_out: str) -> Fold:
        """Clicks of one part, judged with what those of another part say."""
        model = self.model(fit)
        data = self.observe(model)
        relevance = self.relevance(data, fit, model)
        values = self.click_model_values(data, fit, model)

        def part(split: str) -> LogPart:
            one = data[split]
            affine = model.require_affine(self.experiment.config.top_k)
            sessions = None if one.sessions is None else one.sessions()
            return LogPart(
                split,
                units_of(one.statistics, sessions, affine),
                one.statistics,
                one.exposure,
                self.experiment.logging[split],
                relevance[split],
                values.get(split),
                ClickModelError.of(model, self.experiment.logging[split], len(affine.trust)),
                self.experiment.dataset.splits[split][0],
            )

        return Fold(part(fit), part(held_out))

    def observe(self, model: ClickModel) -> dict[str, ClickData]:
        components = self.experiment.components.replace(click_model=model)
        return replace(self.experiment, components=components).observe(self.statistics)

    def relevance(
        self, data: Mapping[str, ClickData], fit: str, model: ClickModel
    ) -> dict[str, Floats]:
        """Relevance of the documents of every part, from the clicks of one part."""
        if fit not in self.estimates:
            self.estimates[fit] = self._relevance(data, fit, model)
        return self.estimates[fit]

    def _relevance(
        self, data: Mapping[str, ClickData], fit: str, model: ClickModel
    ) -> dict[str, Floats]:
        own = _shrunk(data[fit], model, self.experiment.config.top_k)
        if self.experiment.dataset.shared:
            return dict.fromkeys(data, own)
        if "dm" in registry().names("reward") and self.experiment.dataset.n_features:
            reward = build("reward", Choice(name="dm"))
            reward.fit(data[fit], model, seed=seed_for(self.experiment.config.seed, "reward"))
            return {split: reward.mu(part) for split, part in data.items()}
        mean = float(own.mean()) if len(own) else 0.0
        return {split: np.full(part.dataset.n_documents, mean) for split, part in data.items()}

    def click_model_values(
        self, data: Mapping[str, ClickData], fit: str, model: ClickModel
    ) -> dict[str, Floats]:
        """Relevance by the click model, where a plugin offers it as a reward."""
        if "click-model" not in registry().names("reward"):
            return {}
        try:
            reward = build("reward", Choice(name="click-model"))
            reward.fit(data[fit], model, seed=seed_for(self.experiment.config.seed, "reward"))
            return {split: reward.mu(part) for split, part in data.items()}
        except CltrError:  # it may know nothing of other queries
            return {}

    def examine(self) -> list[HealthCheck]:
        """Health checks on training and validation clicks, as before training."""
        try:
            model = self.model("train")
        except DataError:
            return no_model(self.reasons["train"], self.statistics["train"])
        data = self.observe(model)
        relevance = self.relevance(data, "train", model)
        rewards = {
            split: _rewards(data[split], relevance[split], model, split)
            for split in ("train", "valid")
        }
        return examine(model, rewards, seed=seed_for(self.experiment.config.seed, "held-out"))

    def traffic(self) -> dict[str, Floats]:
        """P(q) by split; parts that share lists count together."""
        if self.experiment.dataset.shared:
            parts = [*self.statistics.values()]
            whole = sum(parts[1:], start=parts[0]).query_weights
            return dict.fromkeys(self.statistics, whole)
        return {split: part.query_weights for split, part in self.statistics.items()}


def _shrunk(data: ClickData, model: ClickModel, top_k: int) -> Floats:
    """Corrected clicks by examination of each document, pulled towards their mean, ``[docs]``."""
    examination, trust = model.require_affine(top_k)
    statistics = data.statistics
    clicks = statistics.clicks.sum(-1) - statistics.impressions @ trust
    examined = statistics.impressions @ examination
    mean = float(np.clip(clicks.sum() / max(examined.sum(), 1e-12), 0.0, 1.0))
    found: Floats = (clicks + PRIOR_TRIALS * mean) / (examined + PRIOR_TRIALS)
    return found.clip(0.0, 1.0)


def _rewards(data: ClickData, relevance: Floats, model: ClickModel, split: str) -> Rewards:
    """Doubly robust relevance estimates, without any clipping."""
    statistics = data.statistics
    examination, trust = model.require_affine(statistics.top_k)
    examined = statistics.average(examination)
    inverse = data.exposure.inverse_propensities(examined)
    expected = examined * relevance + statistics.average(trust)
    values = relevance + (statistics.click_rate - expected) * inverse
    shares = statistics.query_weights
    return Rewards(data.dataset, values, data.exposure, shares, "dr", statistics, split)


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
