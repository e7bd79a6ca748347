"""The order of a run, in one place: simulate, reward, learn, serve, judge.

An :class:`Experiment` has all that a run needs: a configuration, its components, the data set and
the production ranker. Each method is one stage, and :meth:`Experiment.run` puts them in order.
Nothing else in the package knows that order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from cltr.clicks.simulation import simulate_statistics
from cltr.data import loading
from cltr.errors import DataError
from cltr.evaluation.certificate import Basis
from cltr.evaluation.judgement import certificates, label_metrics, require_finite
from cltr.evaluation.metrics import MetricValues
from cltr.evaluation.off_policy import off_policy_values
from cltr.experiment.components import Components, compose
from cltr.experiment.config import RunConfig
from cltr.experiment.held_out import hold_out
from cltr.experiment.initial_model import start_model
from cltr.experiment.joint_work import SKYLINE, Lesson, joint
from cltr.experiment.label_training import require_judgements, train_production, train_skyline
from cltr.experiment.library_setup import set_up_libraries
from cltr.experiment.outcome import Learned, Outcome
from cltr.experiment.plan import Plan
from cltr.experiment.progress import Progress
from cltr.experiment.query_policies import QueryPolicies, make_policies
from cltr.experiment.reward_clicks import reward_clicks
from cltr.experiment.run_log import cut_clicks
from cltr.experiment.run_trainer import make_trainer, prepare_estimator, training_weights
from cltr.experiment.seeds import seed_for
from cltr.exposure.exposure import counted_exposure, exposure_of
from cltr.exposure.production_ranker import Production
from cltr.interfaces import ClickModel, Model, Policy
from cltr.logs.stored_sessions import interactions_of
from cltr.policies import PlackettLuce
from cltr.policies.on_dataset import CountedPolicy, Mixture, ScoredPolicy
from cltr.policies.rank_weights import rank_weights
from cltr.policies.stored_policy import StoredPolicy
from cltr.training.loop import Trainer, TrainingState
from cltr.training.score_documents import score
from cltr.types import (
    LOG_PARTS,
    LOGGED_SPLITS,
    ClickData,
    ClickStatistics,
    Dataset,
    Exposure,
    Floats,
    Rewards,
)

Drawn = TypeVar("Drawn")
Clicks = Mapping[str, ClickStatistics]
"""Clicks by split."""


@dataclass(frozen=True)
class Experiment:
    """A configuration with its components, data and production ranker."""

    config: RunConfig
    components: Components
    dataset: Dataset
    production: Production
    progress: Progress = field(default_factory=Progress)
    by_traffic: bool = False
    """Whether certificates weight queries by their traffic: on logs of real users."""
    plan: Plan = "learn"
    """Whether to learn, in a narrow band or not, or to stay with production."""

    def __post_init__(self) -> None:
        """A run starts here: numerical libraries are set up, documents get production's scores."""
        set_up_libraries()
        if self.dataset.production is not None:
            return
        starts = self.production.model is None and self.config.init == "production"
        needed = starts or self.components.scorer.needs_production
        scores = self.production.scores
        if needed and (starts or scores is None):
            scores = self.production.start(self.dataset, self.config.top_k)
        object.__setattr__(self, "dataset", replace(self.dataset, production=scores))

    @classmethod
    def simulated(
        cls,
        config: RunConfig,
        *,
        dataset: Dataset | None = None,
        components: Components | None = None,
        progress: Progress | None = None,
    ) -> "Experiment":
        """Make an experiment whose production ranker is trained on the labels of a few queries.

        Args:
            config: of the run.
            dataset: opened before; that of the configuration by default.
            components: built before; those of the configuration by default.
            progress: told of stages and epochs.
        """
        set_up_libraries()
        progress = progress or Progress()
        components = components or compose(config)
        dataset = dataset or loading.load_dataset(config.data)
        require_judgements(dataset, "simulated users need")
        progress.stage("production ranker")
        production = train_production(config, dataset, progress)
        return cls(config, components, dataset, production, progress)

    def with_config(self, config: RunConfig) -> "Experiment":
        """Return an experiment with other choices, the same data and the same production ranker."""
        return self.but(config=config, components=compose(config))

    def but(self, **choices: Any) -> "Experiment":
        """Return the same experiment with another ``config``, ``components`` or ``plan``.

        What production gives to documents is not computed again.
        """
        other = replace(self, **choices)
        if "logging" in vars(self):
            vars(other)["logging"] = self.logging
        return other

    @cached_property
    def rank_weights(self) -> Floats:
        """Rank weights of the training metric, ``[K]``."""
        return training_weights(self.config, self.components)

    @cached_property
    def reported_weights(self) -> dict[str, Floats]:
        """Rank weights of the reported metric, and of the training metric where it differs."""
        return {name: self._weights_of(name) for name in dict.fromkeys(["dcg", self.config.metric])}

    def _weights_of(self, metric: str) -> Floats:
        return rank_weights(metric, self.config.top_k, self.components.click_model)

    @cached_property
    def logging(self) -> dict[str, ScoredPolicy | CountedPolicy]:
        """The production ranker on each split."""
        return {split: self.production.on(self.dataset, split) for split in self.dataset.splits}

    # The stages.

    def run(
        self,
        clicks: Clicks | None = None,
        *,
        rewards: dict[str, Rewards] | None = None,
        skyline: Model | bool | None = None,
        state: TrainingState | None = None,
        on_epoch: Callable[[TrainingState], None] = lambda state: None,
    ) -> Outcome:
        """Run all stages in order, from clicks to a policy and its evaluation.

        Args:
            clicks: by split; simulated if None.
            rewards: what :meth:`reward` made of the same clicks before, if it did.
            skyline: a model trained on labels to compare with, or whether to train one.
            state: resume training from here.
            on_epoch: called after the start and after every epoch.
        """
        if rewards is None:
            rewards = self.reward(self.simulate() if clicks is None else clicks)
        learned = self.learn(rewards, state=state, on_epoch=on_epoch)
        if isinstance(skyline, bool):
            skyline = self.learn_from_labels() if skyline else None
        self.progress.stage("evaluation")
        served = self.serve(learned.model, own=learned.own)
        judged = self.judge(served, rewards=rewards, skyline=skyline)
        return Outcome(learned, rewards, judged, served)

    def simulate(self) -> dict[str, ClickStatistics]:
        """Simulate clicks on production's rankings and count them, by part of the log."""
        return self.draw(simulate_statistics, self.log_parts)

    @property
    def log_parts(self) -> tuple[str, ...]:
        """Parts of a simulated log; there is a test part if the data set has test queries."""
        first, last = self.dataset.splits.get("test", (0, 0))
        return LOG_PARTS if last > first else LOGGED_SPLITS

    def draw(
        self, simulation: Callable[..., Drawn], splits: Sequence[str] = LOGGED_SPLITS
    ) -> dict[str, Drawn]:
        """Clicks of simulated users, by split, as some function of ``cltr.clicks.simulation``.

        Args:
            simulation: draws the clicks of one split.
            splits: to draw; each has a seed of its own, so others do not change it.
        """
        self.progress.stage("clicks")
        return {split: self._draw(split, simulation) for split in splits}

    def _draw(self, split: str, draw: Callable[..., Drawn]) -> Drawn:
        logging = self.logging[split]
        if isinstance(logging, CountedPolicy):
            raise DataError("production is known by its counts only, so no clicks can be simulated")
        return draw(
            logging.dataset,
            logging.scores,
            self.components.users,
            n=self.n_displays(split),
            top_k=self.config.top_k,
            rng=np.random.default_rng(seed_for(self.config.seed, f"clicks-{split}")),
        )

    def n_displays(self, split: str) -> int:
        """Return the interactions of a split: N on training queries, in proportion on others."""
        first, last = self.dataset.splits[split]
        n_train = self.dataset.part("train").n_queries
        return max(1, round(self.config.interactions * (last - first) / n_train))

    def reward(self, clicks: Clicks) -> dict[str, Rewards]:
        """Estimate relevance from clicks: for training, for choosing the epoch, and for reporting.

        Propensities are clipped on training clicks alone. Clicks that values are reported from
        ("test") are seen by nothing else; see :func:`cltr.experiment.held_out.hold_out`.
        """
        self.progress.stage("rewards")
        rewards = reward_clicks(self.config, self.components, self.observe(clicks))
        if not self.config.log:
            return rewards
        return hold_out(rewards, seed=seed_for(self.config.seed, "held-out"))

    def observe(self, clicks: Clicks) -> dict[str, ClickData]:
        """Cut clicks to the ranks of the run, and add production's exposure."""
        cut = cut_clicks(clicks, self.config.top_k)
        return {
            split: ClickData(
                self.logging[split].dataset,
                cut[split],
                self._exposure(split, cut[split]),
                interactions_of(self.config.log, split, top_k=self.config.top_k),
            )
            for split in cut
        }

    def _exposure(self, split: str, statistics: ClickStatistics) -> Exposure:
        """Exact from production's scores, from logged propensities, or counted from the log."""
        logging, model = self.logging[split], self.components.click_model
        if isinstance(logging, CountedPolicy):
            return exposure_of(logging, model, self.rank_weights, source=self.production.source)
        if self.config.exposure == "counted":
            return counted_exposure(statistics, model, self.rank_weights)
        return exposure_of(logging, model, self.rank_weights, source="exact")

    def prepare(self, n_interactions: int, n_queries: int = 0) -> None:
        """Give the estimator the numbers that its schedules and bounds depend on.

        Args:
            n_interactions: of the training queries.
            n_queries: training queries with interactions.
        """
        prepare_estimator(self.config, self.components, self.plan, n_interactions, n_queries)

    def learn(
        self,
        rewards: Mapping[str, Rewards],
        *,
        state: TrainingState | None = None,
        on_epoch: Callable[[TrainingState], None] = lambda state: None,
    ) -> Learned:
        """Train a policy.

        Args:
            rewards: of training and validation queries.
            state: resume from here.
            on_epoch: called after the start and after every epoch.
        """
        self.progress.stage("training")
        self.prepare(rewards["train"].n_interactions, rewards["train"].n_queries)
        trainer = self.trainer
        config = self.config
        if self.plan == "stay":  # production, wherever training would have started
            config = config.model_copy(update={"init": "production"})
        scorer, stays = self.components.scorer, self.plan == "stay"
        model = start_model(config, self.dataset, self.production, scorer, stays=stays)

        def after_epoch(current: TrainingState) -> None:
            on_epoch(current)
            self.progress.epoch(current, self.config.training)

        start_counts, resumes = config.init == "production", state is not None
        click_model = self.components.click_model
        lesson = Lesson(model, rewards, click_model, self.plan, start_counts, resumes)
        with lesson.joint(self.config, self.dataset):
            final = trainer.train(
                model,
                rewards["train"],
                rewards["valid"],
                start_counts=start_counts,
                state=state,
                on_epoch=after_epoch,
            )
        own = make_policies(self, model, rewards)
        return Learned(model, final, trainer.diagnostics(model, rewards["train"]), own)

    @property
    def trainer(self) -> Trainer:
        """Return the training loop. It makes no step if the run stays with production."""
        return make_trainer(self.config, self.components, self.plan)

    def learn_from_labels(self) -> Model:
        """Train the skyline: the same scorer on the labels of all training queries."""
        self.progress.stage("skyline")
        with joint(SKYLINE):
            return train_skyline(self.config, self.dataset, self.components.scorer, self.progress)

    def serve(
        self, model: Model, *, own: QueryPolicies | None = None, blend: float = 1.0
    ) -> dict[str, Mixture]:
        """Return the policy that users would get, on every split.

        Args:
            model: the new policy's.
            own: policies of single queries; they stand in place of the model's.
            blend: share of the new policy in what is served, on top of the estimator's own.
        """
        scores = score(model, self.dataset)
        served = {}
        for split, by_model in _applied(
            scores, self.dataset, self.components.ranker.policy
        ).items():
            rankings = None if own is None else own.rankings.queries(*self.dataset.splits[split])
            served[split] = Mixture.of(
                self.components.estimator,
                by_model if rankings is None else StoredPolicy(rankings, by_model),
                self.logging[split],
                metrics=self.reported_weights.values(),
                blend=blend,
                bounded=rankings.known if own and own.bounded and rankings else None,
            )
        return served

    def judge(
        self,
        served: Mapping[str, Mixture],
        *,
        skyline: Model | None = None,
        rewards: Mapping[str, Rewards] | None = None,
    ) -> dict[str, Any]:
        """Compute metrics, off-policy values and certificates of what :meth:`serve` gave.

        Args:
            served: by split.
            skyline: a model to compare with.
            rewards: for off-policy values; without, there are none.
        """
        found: dict[str, Any] = {"metrics": {}}
        if self.dataset.judged:
            found["metrics"] = self.metrics(served, skyline=skyline)
            judged = self.dataset.part("test").judged_queries
            if not judged.all():
                found["judged_queries"] = [int(judged.sum()), len(judged)]
        if rewards is not None:
            reported = rewards.get("test", rewards["valid"])
            found["off_policy"] = off_policy_values(
                served[reported.split],
                reported,
                self.rank_weights,
                click_model=self.corrected_for,
                trained_on=rewards["train"],
                seed=seed_for(self.config.seed, "held-out"),
            ) | {
                "seen_by_training": "test" not in rewards,
                "fitted_click_model": self.components.click_model.fitted is not None,
            }
        if not self.dataset.judged and "off_policy" in found:
            found["metrics"] = {
                who: {"value": found["off_policy"][who]["value"]}
                for who in ("production", "policy")
            }
        bases = self.bases(rewards)
        estimator = self.components.estimator
        certified = certificates(served, self.reported_weights, estimator, bases=bases)
        found["certificate"] = certified
        require_finite(found)
        return found

    @property
    def corrected_for(self) -> ClickModel | None:
        """The click model that the reward uses to correct clicks; None if it corrects nothing."""
        assumed = "click model" in self.components.reward.assumes
        return self.components.click_model if assumed else None

    def bases(self, rewards: Mapping[str, Rewards] | None) -> dict[str, Basis]:
        """Return what certificates depend on, by split: exposure and query weights."""
        traffic = {}
        if self.by_traffic and rewards is not None:
            traffic = {part.split: part.query_weights for part in rewards.values()}
        empty = self.config.evaluation.empty
        return {
            split: Basis(
                "exact" if isinstance(logging, ScoredPolicy) else self.production.source,
                traffic.get(split),
                empty,
            )
            for split, logging in self.logging.items()
        }

    def metrics(
        self, served: Mapping[str, Mixture], *, skyline: Model | None = None
    ) -> dict[str, MetricValues]:
        """Metrics on true labels, of test and of training queries; None where one is unknown."""
        best: dict[str, ScoredPolicy] = {}
        if skyline is not None:
            best = _applied(score(skyline, self.dataset), self.dataset, PlackettLuce())
        return label_metrics(
            served,
            best,
            top_k=self.config.top_k,
            options=self.config.evaluation,
            further=self.components.metrics,
        )


def _applied(scores: Floats, dataset: Dataset, policy: Policy) -> dict[str, ScoredPolicy]:
    """A policy on each split, from the scores of all documents."""
    return {
        split: ScoredPolicy(dataset.part(split), scores[dataset.documents_of(split)], policy)
        for split in dataset.splits
    }
