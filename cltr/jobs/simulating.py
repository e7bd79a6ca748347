"""A production ranker and its users' clicks, into a log file."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cltr import pipeline
from cltr.components import compose_users
from cltr.config import RunConfig
from cltr.logs import LogFile, write_log, write_sessions
from cltr.pipeline import Drawn, Progress
from cltr.simulation import simulate_sessions, simulate_statistics
from cltr.types import ClickStatistics


def simulate(
    config: RunConfig, *, out: Path, sessions: bool = False, progress: Progress | None = None
) -> dict[str, Any]:
    """A production ranker and its users' clicks, into a log file."""
    progress = progress or Progress()
    began = time.perf_counter()
    users = compose_users(config)
    dataset = pipeline.load_data(config.data)
    progress.stage("production ranker")
    production = pipeline.train_production(config, dataset, progress)
    progress.stage("clicks")
    description = {
        "users": users.name,
        "n_interactions": config.interactions,
        "top_k": config.top_k,
        "seed": config.seed,
        "data": config.data,
    }
    log = LogFile({}, production.scores, description, dataset.fingerprint)

    def drawn(draw: Callable[..., Drawn]) -> dict[str, Drawn]:
        return {
            split: pipeline.simulate(config, dataset, production, users, split, draw=draw)
            for split in pipeline.LOGGED
        }

    if sessions:
        statistics = write_sessions(
            out,
            log,
            {
                split: (pipeline.n_displays(config, dataset, split), chunks)
                for split, chunks in drawn(simulate_sessions).items()
            },
            {split: dataset.part(split).offsets for split in pipeline.LOGGED},
        )
    else:
        statistics = drawn(simulate_statistics)
        write_log(out, replace(log, statistics=statistics))
    return {
        **description,
        "sessions": sessions,
        "clicks": {split: int(part.clicks.sum()) for split, part in statistics.items()},
        "impressions": {split: int(part.impressions.sum()) for split, part in statistics.items()},
        "click_rate": _rates(statistics["train"]),
        "seconds": round(time.perf_counter() - began, 3),
        "log": str(out),
    }


def _rates(statistics: ClickStatistics) -> list[float]:
    """Clicks per impression by rank."""
    shown = statistics.impressions.sum(0)
    rates = statistics.clicks.sum(0) / np.maximum(shown, 1)
    return [round(float(rate), 6) for rate in rates]
