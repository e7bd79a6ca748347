"""The clicks of a log in folds: what one part says, judged by the clicks of another part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cltr.clicks.choose_model import AFFINE, choose_click_model
from cltr.clicks.models import AffineModel
from cltr.errors import CltrError, DataError
from cltr.evaluation.click_model_error import ClickModelError
from cltr.evaluation.part import Fold, LogPart, doubly_robust
from cltr.evaluation.units import Units, read_units
from cltr.experiment.components import build
from cltr.experiment.config import AUTO
from cltr.experiment.experiment import Experiment
from cltr.experiment.seeds import seed_for
from cltr.health.checkup import examine, no_model
from cltr.health.outcome import HealthCheck
from cltr.interfaces import ClickModel
from cltr.looks import PARTS_IN_WORDS
from cltr.options import Choice
from cltr.plugins import registry
from cltr.types import Affine, ClickData, ClickStatistics, Floats, Rewards

PRIOR_TRIALS = 5.0
"""Examined impressions that the mean relevance is worth beside a document's own clicks."""
Pair = tuple[str, str]
"""The part that all choices are made on, and the part whose clicks judge."""


@dataclass
class FoldMaker:
    """Makes folds; a click model is fitted once for each part that it is fitted to."""

    experiment: Experiment
    statistics: Mapping[str, ClickStatistics]
    """By split, cut to the ranks of the run."""
    pairs: Sequence[Pair]
    """Of the folds."""
    notes: list[str] = field(default_factory=list)
    """What was fitted and found, one sentence each."""
    models: dict[str, ClickModel | None] = field(default_factory=dict)
    """The chosen click model by the part that it was fitted to."""
    _reasons: dict[str, str] = field(default_factory=dict)
    _relevance: dict[str, dict[str, Floats]] = field(default_factory=dict)
    _units: dict[str, Units] = field(default_factory=dict)
    _observed: dict[ClickModel, dict[str, ClickData]] = field(default_factory=dict)

    def model(self, split: str) -> ClickModel:
        """Given, or fitted to the clicks of one part."""
        config = self.experiment.config
        if config.click_model.name != AUTO:
            return self.experiment.components.click_model
        if split not in self.models:
            self._choose(split)
        found = self.models[split]
        if found is None:
            raise DataError(
                f"{config.log}: {self._reasons[split]} Give the click model (--click-model)."
            )
        return found

    def _choose(self, split: str) -> None:
        """Fit a click model to a part: its kind is that of the training part.

        Gains under click models of two kinds are on two scales of relevance, so folds of two kinds
        must not be added up.
        """
        kinds = AFFINE
        if split != "train":
            chosen = self.model("train").name
            kinds = tuple(kind for kind in AFFINE if kind.name == chosen)
        statistics = self.statistics[split]
        seed = seed_for(self.experiment.config.seed, "held-out")
        choice = choose_click_model(statistics, kinds=kinds, seed=seed)
        self.models[split] = choice.model
        self._reasons[split] = choice.sentences[0]
        if split == "train" or choice.model is None:
            self.notes += choice.sentences
        else:
            self.notes.append(
                f"The click model was also fitted to the {statistics.n_interactions:,} "
                f"interactions of the {PARTS_IN_WORDS[split]} part, so that clicks of the training "
                "part can judge too."
            )

    def fold(self, fit: str, held_out: str) -> Fold:
        """Clicks of one part, judged with what those of another part say."""
        model = self.model(fit)
        data = self.observe(model)
        relevance = self.relevance(data, fit, model)
        values = self.click_model_values(data, fit, model)
        fitted, judged = (
            replace(part, click_model_values=values.get(part.split))
            for part in self._parts((fit, held_out), model, data, relevance)
        )
        return Fold(fitted, judged)

    def folds(self) -> tuple[Fold, ...]:
        """All folds under the click model of the log.

        A part to which that kind of model cannot be fitted judges no other part.
        """
        self.pairs = [pair for pair in self.pairs if self._can_judge(pair[0])]
        return tuple(self.fold(*pair) for pair in self.pairs)

    def _can_judge(self, fit: str) -> bool:
        if fit == "train" or self.experiment.config.click_model.name != AUTO:
            return True
        self.model("train")
        try:
            self.model(fit)
        except DataError:
            self.notes.append(
                "So the clicks of the training part are not used to judge the candidate."
            )
            return False
        return True

    def other_folds(self) -> dict[str, tuple[Fold, ...]]:
        """The same folds under the other click models that can be fitted, by what they are called.

        A model that cannot be fitted to each part, or did not converge, is left out.
        """
        found, parts = {}, dict.fromkeys(fit for fit, _ in self.pairs)
        for kind in AFFINE:
            if all(self._is_chosen(kind, fit) for fit in parts):
                continue
            models = {fit: self._fitted(kind, fit) for fit in parts}
            if all(model is not None for model in models.values()):
                folds = (self._other_fold(pair, models[pair[0]]) for pair in self.pairs)
                found[f"{kind.name}, fitted"] = tuple(folds)
        return found

    def _is_chosen(self, kind: type[AffineModel], split: str) -> bool:
        chosen = self.models.get(split)
        return chosen is not None and chosen.name == kind.name

    def _fitted(self, kind: type[AffineModel], split: str) -> ClickModel | None:
        """Fitted to the clicks of a part; None if that cannot be done."""
        if self._is_chosen(kind, split):
            return self.models[split]
        model = kind()
        try:
            parameters = model.fit(self.statistics[split])
        except CltrError:
            return None
        return model if parameters.convergence.converged else None

    def _other_fold(self, pair: Pair, model: ClickModel | None) -> Fold:
        """With relevance of its own where that is cheap; DR has no bias with any relevance."""
        assert model is not None
        data = self.observe(model)
        relevance = self._relevance[pair[0]]
        if self.experiment.dataset.shared:
            own = _shrunk(data[pair[0]], model, self.experiment.config.top_k)
            relevance = dict.fromkeys(data, own)
        return Fold(*self._parts(pair, model, data, relevance))

    def _parts(
        self,
        splits: Pair,
        model: ClickModel,
        data: Mapping[str, ClickData],
        relevance: Mapping[str, Floats],
    ) -> list[LogPart]:
        """Parts of the log under a click model."""
        affine = model.require_affine(self.experiment.config.top_k)
        logging, first = self.experiment.logging, self.experiment.dataset.splits
        units = self._units_of(data, affine)
        return [
            LogPart(
                split,
                units[split],
                data[split].statistics,
                data[split].exposure,
                logging[split],
                relevance[split],
                model_error=ClickModelError.of(model, logging[split], len(affine.trust)),
                first_query=first[split][0],
            )
            for split in splits
        ]

    def _units_of(self, data: Mapping[str, ClickData], affine: Affine) -> dict[str, Units]:
        """Of the parts that are used; read once, and looked at under any click model."""
        if not self._units:
            used = dict.fromkeys(split for pair in self.pairs for split in pair)
            parts = {split: (data[split].statistics, data[split].sessions) for split in used}
            self._units = read_units(
                {split: (counts, read and read()) for split, (counts, read) in parts.items()},
                affine,
            )
        return {split: units.under(affine) for split, units in self._units.items()}

    def observe(self, model: ClickModel) -> dict[str, ClickData]:
        """Clicks with the exposure that production gave under a click model."""
        if model not in self._observed:
            components = self.experiment.components.replace(click_model=model)
            observed = replace(self.experiment, components=components).observe(self.statistics)
            self._observed[model] = observed
        return self._observed[model]

    def relevance(
        self, data: Mapping[str, ClickData], fit: str, model: ClickModel
    ) -> dict[str, Floats]:
        """Relevance of the documents of every part, from the clicks of one part."""
        if fit not in self._relevance:
            self._relevance[fit] = self._estimate(data, fit, model)
        return self._relevance[fit]

    def _estimate(
        self, data: Mapping[str, ClickData], fit: str, model: ClickModel
    ) -> dict[str, Floats]:
        own = _shrunk(data[fit], model, self.experiment.config.top_k)
        if self.experiment.dataset.shared:
            return dict.fromkeys(data, own)
        if "dm" in registry().names("reward") and self.experiment.dataset.n_features:
            return self._by_reward("dm", data, fit, model)
        mean = float(own.mean()) if len(own) else 0.0
        return {split: np.full(part.dataset.n_documents, mean) for split, part in data.items()}

    def click_model_values(
        self, data: Mapping[str, ClickData], fit: str, model: ClickModel
    ) -> dict[str, Floats]:
        """Relevance by the click model, where a plugin offers it as a reward."""
        if "click-model" not in registry().names("reward"):
            return {}
        try:
            return self._by_reward("click-model", data, fit, model)
        except CltrError:  # it may know nothing of other queries
            return {}

    def _by_reward(
        self, name: str, data: Mapping[str, ClickData], fit: str, model: ClickModel
    ) -> dict[str, Floats]:
        reward = build("reward", Choice(name=name))
        reward.fit(data[fit], model, seed=seed_for(self.experiment.config.seed, "reward"))
        return {split: reward.mu(part) for split, part in data.items()}

    def examine(self) -> list[HealthCheck]:
        """Health checks on training and validation clicks, as before training."""
        try:
            model = self.model("train")
        except DataError:
            return no_model(self._reasons["train"], self.statistics["train"])
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
    affine = model.require_affine(statistics.top_k)
    values = doubly_robust(statistics, data.exposure, relevance, affine)
    shares = statistics.query_weights
    return Rewards(data.dataset, values, data.exposure, shares, "dr", statistics, split)
