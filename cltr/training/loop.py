"""The only training loop: scores, exact expected weights, slopes, a ranker's step.

Every random choice of an epoch derives from the seed and the epoch's number, so a run that was
interrupted goes on to the same result from its last finished epoch.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from cltr.interfaces import Estimator, Objective, Ranker
from cltr.options import Options
from cltr.training.batches import Batch, draw_batches
from cltr.training.score_documents import score, tensors
from cltr.types import Floats, Lists, Rewards

if TYPE_CHECKING:
    import torch


class TrainingOptions(Options):
    """How the loop runs."""

    epochs: int = Field(100, ge=0, description="at most this many passes over the queries.")
    patience: int = Field(
        10, ge=1, description="stop after this many epochs without a better validation value."
    )
    learning_rate: float = Field(
        1e-3,
        gt=0,
        allow_inf_nan=False,
        description="step size of Adam; larger is faster and less steady.",
    )
    weight_decay: float = Field(
        0.0,
        ge=0,
        allow_inf_nan=False,
        description="pull of the weights towards 0; any pull moves a policy that has no "
        "reason to move.",
    )
    batch_queries: int = Field(
        32, ge=1, description="queries in a step; fewer are more and noisier steps."
    )
    keep: Literal["best", "last"] = Field(
        "best",
        description="which epoch's weights to keep: the best by validation clicks (a start from "
        "production among them), or the last.",
    )


@dataclass
class TrainingState:
    """All that a run needs to go on after an interruption."""

    epoch: int = 0
    weights: dict[str, Any] = field(default_factory=dict)
    optimizer: dict[str, Any] = field(default_factory=dict)
    best_weights: dict[str, Any] = field(default_factory=dict)
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

    def train(
        self,
        module: "torch.nn.Module",
        training: Rewards,
        validation: Rewards | None,
        *,
        start_counts: bool = True,
        state: TrainingState | None = None,
        on_epoch: Callable[[TrainingState], None] = lambda state: None,
    ) -> TrainingState:
        """Train until the validation value stops rising; leave the weights to keep in ``module``.

        Without validation all epochs run and the last one counts.

        Args:
            module: the scorer's module; changed in place.
            training: where gradients come from.
            validation: where the value that stops training comes from.
            start_counts: whether the start is among the weights to keep. Weights that nothing was
                learned into should not be: a few validation clicks can prefer them.
            state: go on from here instead of from the module's weights.
            on_epoch: called after the start and after every epoch, to show and to save.
        """
        import torch

        # Decay apart from the gradient: Adam makes a full step of any gradient, so where slopes
        # are 0, at PRPO's bounds, decay within it would carry the policy away.
        optimizer = torch.optim.AdamW(
            module.parameters(),
            lr=self.options.learning_rate,
            weight_decay=self.options.weight_decay,
            fused=True,
        )
        if state is None:
            state = TrainingState(weights=_copy(module.state_dict()))
            self._judge(module, validation, state)
            if not start_counts:
                state.best_value = -np.inf
            on_epoch(state)
        else:
            module.load_state_dict(state.weights)
            if state.optimizer:
                optimizer.load_state_dict(state.optimizer)
        while (
            state.epoch < self.options.epochs
            and state.epoch - state.best_epoch < self.options.patience
        ):
            state.epoch += 1
            self._epoch(module, optimizer, training, state.epoch)
            state.weights = _copy(module.state_dict())
            state.optimizer = optimizer.state_dict()
            self._judge(module, validation, state)
            on_epoch(state)
        if self.options.keep == "best":
            module.load_state_dict(state.best_weights)
        return state

    def value(self, module: "torch.nn.Module", split: Rewards) -> dict[str, float]:
        """The estimator's own value of the policy on a split, and how much of it is clipped."""
        lists = split.dataset.lists
        weights = self.ranker.policy.expected_weights(
            score(module, split.dataset), lists, self.rank_weights
        )
        logging_weights = split.exposure.weights
        gain = self.estimator.gain(weights, logging_weights, split.values)
        value = _mean(lists.sum(gain), split.query_weights)
        if self.estimator.penalised:
            divergence = self.estimator.divergence(weights, split.exposure)
            mean = _mean(lists.sum(divergence), split.query_weights)
            value -= self.estimator.penalty(mean)
        return {
            "value": value,
            "clipped": self._clipped(weights, split),
            "unsupported": self._unsupported(weights, split),
        }

    def _unsupported(self, weights: Floats, split: Rewards) -> float:
        """How many documents of logged queries the estimator's bound leaves out; NaN without."""
        unsupported = self.estimator.unsupported(weights, split.exposure)
        logged = np.repeat(split.query_weights > 0, split.dataset.lists.lengths)
        return float("nan") if unsupported is None else float(unsupported[logged].sum())

    def _clipped(self, weights: Floats, split: Rewards) -> float:
        """Share of the rewarded documents of logged queries past the bound; NaN without one."""
        outside = self.estimator.outside(weights, split.exposure.weights)
        if outside is None:
            return float("nan")
        logged = np.repeat(split.query_weights > 0, split.dataset.lists.lengths)
        counted = logged & (split.values != 0)
        slope = self.estimator.slope(weights, split.exposure.weights, split.values)
        stopped = counted & (slope * split.values <= 0)
        return float(stopped.sum() / max(counted.sum(), 1))

    def _judge(
        self,
        module: "torch.nn.Module",
        validation: Rewards | None,
        state: TrainingState,
    ) -> None:
        """Record the epoch's values; keep the weights if they are the best so far."""
        record: dict[str, Any] = {"epoch": state.epoch}
        if validation is None:
            better = True
        else:
            judged = self.value(module, validation)
            record |= {"valid_value": judged["value"]}
            better = judged["value"] > state.best_value
            state.best_value = max(state.best_value, judged["value"])
        if better:
            state.best_epoch = state.epoch
            state.best_weights = _copy(module.state_dict())
        state.history.append(record)

    def _epoch(
        self,
        module: "torch.nn.Module",
        optimizer: "torch.optim.Optimizer",
        training: Rewards,
        epoch: int,
    ) -> None:
        rng = np.random.default_rng([self.seed, epoch])
        divergences = self._divergences(module, training)
        module.train()
        for queries in draw_batches(training, self.options.batch_queries, rng):
            batch = Batch.of(training, queries)
            self._step(module, optimizer, training, batch, divergences, rng)

    def _divergences(self, module: "torch.nn.Module", training: Rewards) -> Floats | None:
        """Divergence of every query at the start of an epoch; steps keep it up to date."""
        if not self.estimator.penalised:
            return None
        lists = training.dataset.lists
        weights = self.ranker.policy.expected_weights(
            score(module, training.dataset), lists, self.rank_weights
        )
        return lists.sum(self.estimator.divergence(weights, training.exposure))

    def _step(
        self,
        module: "torch.nn.Module",
        optimizer: "torch.optim.Optimizer",
        training: Rewards,
        batch: Batch,
        divergences: Floats | None,
        rng: np.random.Generator,
    ) -> None:
        import torch

        scores = module(*tensors(training.dataset, batch.rows))
        padded = batch.pad(scores.detach().numpy().astype(np.float64), fill=-np.inf)
        weights = self.ranker.policy.expected_weights(
            padded, Lists.of_mask(batch.mask), self.rank_weights
        )
        price = 0.0
        if divergences is not None:
            terms = self.estimator.divergence(weights, batch.exposure) * batch.mask
            divergences[batch.queries] = terms.sum(-1)
            price = self.estimator.penalty_slope(_mean(divergences, training.query_weights))
        objective = Objective(self.estimator, weights, batch.exposure, batch.rewards, price)
        gradient = self.ranker.gradient(padded, batch.mask, self.rank_weights, objective, rng)
        # Queries count by how often they came; scaled so that a step is one query's on average.
        share = batch.shares * np.count_nonzero(training.query_weights) / len(batch.queries)
        ascent = (gradient * share[:, None])[batch.mask]
        optimizer.zero_grad(set_to_none=True)
        scores.backward(torch.from_numpy(-ascent).to(scores.dtype))
        optimizer.step()


def _copy(state: dict[str, Any]) -> dict[str, Any]:
    return {name: tensor.detach().clone() for name, tensor in state.items()}


def _mean(values: Floats, shares: Floats) -> float:
    """Weighted mean; not by ``@``, whose last digit depends on the number of threads."""
    return float((shares * values).sum())
