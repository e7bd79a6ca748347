"""A production ranker and its users' clicks, into a log file."""

import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cltr.clicks.simulation import simulate_sessions
from cltr.data import loading
from cltr.errors import UnsupportedError
from cltr.experiment.components import Components
from cltr.experiment.config import RunConfig
from cltr.experiment.experiment import Experiment
from cltr.experiment.progress import Progress
from cltr.logs.log_file import LogFile, write_log, write_sessions
from cltr.types import ClickStatistics, Dataset


def simulate(
    config: RunConfig,
    *,
    out: Path,
    dataset: Dataset | None = None,
    sessions: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """A production ranker and its users' clicks, into a log file.

    Args:
        config: of the run that would be trained on it.
        out: the file.
        dataset: opened before; that of the configuration by default.
        sessions: keep the interactions, not only their counts.
        progress: told of stages and epochs.
    """
    progress = progress or Progress()
    began = time.perf_counter()
    components = Components(config)
    users = components.users
    with suppress(UnsupportedError):  # a model that is not affine has values for all ranks
        users.affine(config.top_k)
    dataset = loading.load_dataset(dataset or config.data)
    experiment = Experiment.simulated(
        config, dataset=dataset, components=components, progress=progress
    )
    description = {
        "users": users.name,
        "n_interactions": config.interactions,
        "top_k": config.top_k,
        "seed": config.seed,
        "data": config.data,
    }
    log = LogFile({}, experiment.production.scores, description, dataset.fingerprint)

    parts = experiment.log_parts
    if sessions:
        statistics = write_sessions(
            out,
            log,
            {
                split: (experiment.n_displays(split), chunks)
                for split, chunks in experiment.draw(simulate_sessions, parts).items()
            },
            {split: dataset.part(split).offsets for split in parts},
        )
    else:
        statistics = experiment.simulate()
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
