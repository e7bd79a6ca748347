"""Compute the cells of a study; what cells share is computed once and kept while it is of use."""

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from cltr.clicks.simulation import simulate_statistics
from cltr.data import loading
from cltr.errors import CltrError
from cltr.experiment.components import compose, fitted_files, resolved
from cltr.experiment.config import AUTO, RunConfig
from cltr.experiment.experiment import Experiment
from cltr.experiment.outcome import Outcome
from cltr.experiment.safe_run import run_safely
from cltr.objectives.plain_training import trains_as_plain
from cltr.plugins import versions
from cltr.studies.portable_arithmetic import arithmetic
from cltr.studies.study import PRODUCTION, SKYLINE, Cell, Study
from cltr.types import ClickStatistics, Rewards

DATA_KEYS = ("data",)
PRODUCTION_KEYS = (*DATA_KEYS, "version", "standardize", "seed", "top_k", "production", "scorer")
CLICK_KEYS = (*PRODUCTION_KEYS, "users", "click_model", "interactions")
REWARD_KEYS = (*CLICK_KEYS, "reward", "metric", "exposure", "propensity_clip")
MODEL_KEYS = (*REWARD_KEYS, "init", "ranker", "training")
"""What production, clicks, rewards and a model depend on: keys of the run file."""

RESULTS_KEPT = 8
Shared = TypeVar("Shared")


class CellWorker:
    """Computes cells; those that follow each other share data, production, clicks and rewards."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Any] = OrderedDict()

    def run(self, study: Study, cell: Cell) -> dict[str, Any]:
        """The cell's numbers, or why there are none."""
        began = time.perf_counter()
        try:
            config = study.config(cell)
            row = {"status": "done"} | (
                self._skyline(config) if cell.method == SKYLINE else self._method(config)
            )
        except Exception as error:  # whatever is wrong with one cell, the others go on
            row = {"status": "failed", "error": one_line(error)}
        return row | {"seconds": round(time.perf_counter() - began, 3)}

    def _method(self, config: RunConfig) -> dict[str, Any]:
        experiment = self._experiment(config)
        if config.on_doubt != "ignore" or config.click_model.name == AUTO:
            return self._safely(experiment)
        rewards = self._once(
            "rewards", config, REWARD_KEYS, lambda: experiment.reward(self._clicks(experiment))
        )
        return _numbers(self._learned(experiment, rewards), config.top_k)

    def _learned(self, experiment: Experiment, rewards: dict[str, Rewards]) -> Outcome:
        """A run; methods that train the same model and serve it differently train it once."""
        if not trains_as_plain(experiment.components.estimator):
            return experiment.run(rewards=rewards)
        state = self._once(
            "model", experiment.config, MODEL_KEYS, lambda: experiment.learn(rewards).state
        )
        return experiment.run(rewards=rewards, state=state)

    def _safely(self, experiment: Experiment) -> dict[str, Any]:
        """A run with its precautions, as ``cltr train`` makes it; it may stay with production."""
        found = run_safely(experiment, experiment.simulate())
        plan = found.precautions.plan
        return _numbers(found.outcome, experiment.config.top_k) | {
            "stayed": int(plan == "stay"),
            "narrowed": int(plan == "narrow"),
            "share": found.verdict.share,
        }

    def _skyline(self, config: RunConfig) -> dict[str, Any]:
        experiment = self._experiment(config)
        served = experiment.serve(experiment.learn_from_labels())
        return _columns(experiment.metrics(served))

    def _experiment(self, config: RunConfig) -> Experiment:
        components = compose(config)
        dataset = self._once("data", config, DATA_KEYS, lambda: loading.load_dataset(config.data))
        production = self._once(
            "production",
            config,
            PRODUCTION_KEYS,
            lambda: Experiment.simulated(config, dataset=dataset, components=components).production,
        )
        return Experiment(config, components, dataset, production)

    def _clicks(self, experiment: Experiment) -> dict[str, ClickStatistics]:
        """Clicks to train on; studies report metrics on labels and need no others."""
        return self._once(
            "clicks", experiment.config, CLICK_KEYS, lambda: experiment.draw(simulate_statistics)
        )

    def _once(
        self, what: str, config: RunConfig, keys: tuple[str, ...], compute: Callable[[], Shared]
    ) -> Shared:
        """What was computed for the same values of these keys, or what is computed now."""
        values = config.model_dump(mode="json", include=set(keys))
        key = json.dumps([what, values], sort_keys=True)
        if key not in self._kept:
            self._kept[key] = compute()
        self._kept.move_to_end(key)
        while len(self._kept) > RESULTS_KEPT:
            self._kept.popitem(last=False)
        found: Shared = self._kept[key]
        return found


def _numbers(outcome: Outcome, top_k: int) -> dict[str, Any]:
    """What a run says of its policy, on test queries unless a name says otherwise."""
    certified = outcome.judged["certificate"]
    worst = {split: certified[split]["worst_case"][f"ndcg@{top_k}"] for split in ("test", "train")}
    return {
        **_columns(outcome.judged["metrics"]),
        "worst_loss": certified["test"]["worst_loss"],
        "worst_ndcg_loss": worst["test"]["loss"],
        "worst_ndcg_loss_of_a_query": worst["test"]["largest_query"],
        "train_worst_ndcg_loss": worst["train"]["loss"],
        "ratio_min": certified["test"]["ratio_min"],
        "clip_fraction": outcome.learned.clip_fraction,
        "epochs": outcome.learned.state.epoch,
        "best_epoch": outcome.learned.state.best_epoch,
    }


def _columns(metrics: dict[str, dict[str, float | None]]) -> dict[str, Any]:
    """The policy's metrics by name, production's beside them."""
    production = {f"{PRODUCTION}_{name}": value for name, value in metrics[PRODUCTION].items()}
    return metrics["policy"] | production


def one_line(error: Exception) -> str:
    """An error in one line; what is not ours with its type."""
    text = (str(error).splitlines() or [""])[0]
    return text if isinstance(error, CltrError) else f"{type(error).__name__}: {text}"


def key_of(study: Study, cell: Cell, ground: Any) -> str:
    """A name for the cell that changes with whatever its numbers depend on, and nothing else.

    Args:
        study: where it stands.
        cell: which.
        ground: what numbers depend on beside a cell's options: data, versions, arithmetic.
    """
    try:
        config = study.config(cell)
        values = resolved(config, compose(config)).model_dump(
            mode="json", exclude={"provenance", "data"}
        ) | fitted_files(config)
    except CltrError as error:  # it will fail, and say why
        values = vars(cell) | {"error": str(error)}
    if cell.method == SKYLINE:
        values = {"skyline": {key: values.get(key) for key in (*PRODUCTION_KEYS[1:], "training")}}
    text = json.dumps([values, ground], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def ground_of(data: str) -> tuple[Any, ...]:
    """What numbers depend on beside a cell's options: data, versions, arithmetic."""
    return loading.load_dataset(data).fingerprint, versions(), arithmetic()
