"""One cell computed; what cells have in common is computed once and kept while it is of use."""

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from cltr import pipeline
from cltr.components import Components, compose, fitted_files, resolved
from cltr.config import RunConfig
from cltr.errors import CltrError
from cltr.pipeline import Production, Progress
from cltr.simulation import simulate_statistics
from cltr.studies.study import PRODUCTION, SKYLINE, Cell, Study
from cltr.types import ClickStatistics, Dataset

DATA = ("data",)
RANKED = (*DATA, "seed", "top_k", "production", "scorer")
CLICKED = (*RANKED, "users", "click_model", "interactions")
REWARDED = (*CLICKED, "reward", "metric", "exposure", "propensity_clip")
"""What production, clicks and rewards depend on: keys of the run file."""

KEPT = 8
Shared = TypeVar("Shared")


class Bench:
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
        parts = compose(config)
        dataset, production = self._data(config), self._production(config)
        statistics = self._clicks(config, parts)
        rewarded = self._once(
            "rewards",
            config,
            REWARDED,
            lambda: pipeline.reward_clicks(config, parts, dataset, production, statistics),
        )
        learned = pipeline.learn(
            config, parts, dataset, production, statistics, Progress(), rewarded=rewarded
        )
        judged = pipeline.evaluate(config, parts, dataset, production, learned.module)
        certificate = judged["certificate"]["test"]
        return {
            **_columns(judged["metrics"]),
            "worst_loss": certificate["worst_loss"],
            "ratio_min": certificate["ratio_min"],
            "clip_fraction": learned.clip_fraction,
            "epochs": learned.state.epoch,
            "best_epoch": learned.state.best_epoch,
        }

    def _skyline(self, config: RunConfig) -> dict[str, Any]:
        parts = compose(config)
        dataset, production = self._data(config), self._production(config)
        module = pipeline.train_skyline(config, dataset, parts.scorer, Progress())
        served = pipeline.serve(config, parts, dataset, production, module)
        return _columns(pipeline.judge(config, parts, dataset, served, module))

    def _data(self, config: RunConfig) -> Dataset:
        return self._once("data", config, DATA, lambda: pipeline.load_data(config.data))

    def _production(self, config: RunConfig) -> Production:
        dataset = self._data(config)
        return self._once(
            "production",
            config,
            RANKED,
            lambda: pipeline.train_production(config, dataset, Progress()),
        )

    def _clicks(self, config: RunConfig, parts: Components) -> dict[str, ClickStatistics]:
        dataset, production = self._data(config), self._production(config)
        return self._once(
            "clicks",
            config,
            CLICKED,
            lambda: {
                split: pipeline.simulate(
                    config, dataset, production, parts.users, split, draw=simulate_statistics
                )
                for split in pipeline.LOGGED
            },
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
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        found: Shared = self._kept[key]
        return found


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
        values = {"skyline": {key: values.get(key) for key in (*RANKED[1:], "training")}}
    text = json.dumps([values, ground], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]
