"""The only training loop: scores, exact expected weights, slopes, a ranker's step.

Every random choice of an epoch derives from the seed and the epoch's number, so a run that was
interrupted goes on to the same result from its last finished epoch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from pydantic import Field

from cltr.documents import Documents, State
from cltr.errors import DataError
from cltr.interfaces import Estimator, Model, Penalised, Ranker
from cltr.options import Options
from cltr.training.batch_ascent import BatchAscent, mean
from cltr.training.batches import TrainingBatch, all_batches, documents_of, draw_batches
from cltr.training.processes import Processes, Share, current_processes
from cltr.training.score_documents import score
from cltr.training.threads import one_ahead, several_threads
from cltr.types import Exposure, Floats, Integers, Lists, Rewards


class TrainingOptions(Options):
    """How the loop runs."""

    epochs: int = Field(
        100, ge=0, description=("largest number of passes over the queries (epochs).")
    )
    patience: int = Field(
        10, ge=1, description="stop after this many epochs without a better validation value."
    )
    learning_rate: float = Field(
        1e-3,
        gt=0,
        allow_inf_nan=False,
        description="step size of Adam; larger is faster and less stable.",
    )
    weight_decay: float = Field(
        0.0,
        ge=0,
        allow_inf_nan=False,
        description="how strongly weights are pulled towards 0; above 0, the policy moves even "
        "without a gain.",
    )
    batch_queries: int = Field(
        32, ge=1, description="number of queries in a step; fewer make more and noisier steps."
    )
    keep: Literal["best", "last"] = Field(
        "best",
        description="which epoch to keep: the best by validation clicks, including the start at "
        "production, or the last.",
    )


@dataclass
class TrainingState:
    """All that a run needs to go on after an interruption."""

    epoch: int = 0
    weights: State = field(default_factory=dict)
    """The model's state."""
    optimizer: State = field(default_factory=dict)
    """Its training state."""
    best_weights: State = field(default_factory=dict)
    best_epoch: int = 0
    best_value: float = -np.inf
    history: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Trainer:
    """An estimator, a ranker and a metric, applied to one split after the other."""

    estimator: Estimator
    ranker: Ranker
    rank_weights: Floats
    options: TrainingOptions
    seed: int = 0
    processes: Processes = field(default_factory=current_processes)

    def train(
        self,
        model: Model,
        training: Rewards,
        validation: Rewards | None,
        *,
        start_counts: bool = True,
        state: TrainingState | None = None,
        on_epoch: Callable[[TrainingState], None] = lambda state: None,
    ) -> TrainingState:
        """Train until the validation value stops rising; leave the state to keep in ``model``.

        Without validation all epochs run and the last one counts.

        Args:
            model: changed in place.
            training: where gradients come from.
            validation: where the value that stops training comes from.
            start_counts: whether the start is among the states to keep. Weights that nothing was
                learned into should not be: a few validation clicks can prefer them.
            state: go on from here instead of from the model's own state.
            on_epoch: called after the start and after every epoch, to show and to save.
        """
        self.processes.connect(model, training)
        share = self.processes.share(training)
        if validation is not None:
            validation = self.processes.share(validation).rewards
        if state is None:
            state = TrainingState(weights=model.state())
            self._judge(model, validation, state)
            if not start_counts:
                state.best_value = -np.inf
            on_epoch(state)
        else:
            self._go_on(model, state)
        whole = self._whole(training) if model.whole else None
        while (
            state.epoch < self.options.epochs
            and state.epoch - state.best_epoch < self.options.patience
        ):
            state.epoch += 1
            self._epoch(model, training, share, state.epoch, whole)
            state.weights, state.optimizer = model.state(), model.training_state()
            self.processes.agree(state.weights.values())
            self._judge(model, validation, state)
            on_epoch(state)
        if self.options.keep == "best":
            model.load_state(state.best_weights)
        return state

    @staticmethod
    def _go_on(model: Model, state: TrainingState) -> None:
        """Put a stored state into the model; both its best and its last weights must fit."""
        try:
            model.load_state(state.best_weights)
            model.load_state(state.weights)
            model.load_training_state(state.optimizer)
        except (KeyError, ValueError, TypeError) as error:
            raise DataError(
                f"the checkpoint does not fit the run: {error}; remove it to start again"
            ) from error

    def value(self, model: Model, split: Rewards) -> float:
        """The estimator's own value of the policy on a split.

        Args:
            model: the policy's.
            split: the queries that this process owns; the value is that of all processes.
        """
        lists, weights = split.dataset.lists, self._weights(model, split)

        def total(values: Floats) -> float:
            return self.processes.total(mean(lists.sum(values), split.query_weights))

        value = total(self.estimator.gain(weights, split.exposure.weights, split.values))
        if isinstance(self.estimator, Penalised):
            value -= self.estimator.penalty(
                total(self.estimator.divergence(weights, split.exposure))
            )
        return value

    def diagnostics(self, model: Model, split: Rewards) -> Mapping[str, float]:
        """The estimator's own numbers on the logged queries of a split."""
        lengths = split.dataset.lists.lengths
        logged = split.query_weights > 0
        rows, kept = np.repeat(logged, lengths), lengths[logged]
        given = split.exposure
        exposure = Exposure(
            given.weights[rows], given.propensities[rows], given.attention[rows], given.source
        )
        lists = Lists(np.cumsum(kept) - kept, kept)
        weights = self._weights(model, split)[rows]
        return self.estimator.diagnostics(weights, exposure, split.values[rows], lists)

    def _weights(self, model: Model, split: Rewards) -> Floats:
        scores = score(model, split.dataset)
        return self.ranker.policy.expected_weights(scores, split.dataset.lists, self.rank_weights)

    def _judge(self, model: Model, validation: Rewards | None, state: TrainingState) -> None:
        """Record the epoch's value; keep the state if it is the best so far."""
        record: dict[str, Any] = {"epoch": state.epoch}
        better = True
        if validation is not None:
            value = self.value(model, validation)
            record["valid_value"] = value
            better = value > state.best_value
            state.best_value = max(state.best_value, value)
        if better:
            state.best_epoch, state.best_weights = state.epoch, state.weights
        state.history.append(record)

    def _epoch(
        self,
        model: Model,
        training: Rewards,
        share: Share,
        epoch: int,
        whole: tuple[list[TrainingBatch], Documents] | None,
    ) -> None:
        rng = np.random.default_rng([self.seed, epoch])
        divergences, draws = self._divergences(model, training, share), self.processes.draws(rng)

        def climb(batches: list[TrainingBatch], n_queries: int) -> BatchAscent:
            parts = (self.estimator, self.ranker, self.rank_weights, training)
            return BatchAscent(*parts, batches, divergences, draws, n_queries, self.processes)

        if whole is not None:
            batches, documents = whole
            model.step(documents, climb(batches, sum(len(one.queries) for one in batches)))
            return

        def gather(queries: Integers) -> tuple[Documents, list[TrainingBatch], int]:
            own = share.of(queries)
            batches = [TrainingBatch.of(training, own)] if len(own) else []
            return documents_of(training.dataset, batches), batches, len(queries)

        drawn = draw_batches(training, self.options.batch_queries, rng)
        for documents, batches, n_queries in one_ahead(gather, drawn, aside=several_threads()):
            model.step(documents, climb(batches, n_queries))

    def _whole(self, training: Rewards) -> tuple[list[TrainingBatch], Documents] | None:
        """All training queries for models that want them at once; None if there are none."""
        chosen = all_batches(training, self.options.batch_queries)
        batches = [TrainingBatch.of(training, queries) for queries in chosen]
        return (batches, documents_of(training.dataset, batches)) if batches else None

    def _divergences(self, model: Model, training: Rewards, share: Share) -> Floats | None:
        """Divergence of every owned query at the start of an epoch; steps keep it up to date."""
        if not isinstance(self.estimator, Penalised):
            return None
        own = share.rewards
        divergence = self.estimator.divergence(self._weights(model, own), own.exposure)
        found = np.zeros(training.dataset.n_queries)
        found[share.first : share.last] = own.dataset.lists.sum(divergence)
        return found
