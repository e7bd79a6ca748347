"""Simulated logs that are checked in tests."""

from dataclasses import replace

import numpy as np

from cltr.checks import Evidence, find_all
from cltr.clicks.models import PositionBased
from cltr.clicks.simulation import simulate_statistics
from cltr.logs.log_file import LogFile
from cltr.logs.log_lists import lists_of_log
from cltr.types import Dataset

QUERIES, DOCUMENTS, TOP_K = 6, 8, 4


def lists() -> Dataset:
    offsets = np.arange(QUERIES + 1) * DOCUMENTS
    ids = np.array([f"d{d}" for d in range(QUERIES * DOCUMENTS)])
    return lists_of_log(offsets, np.array([f"q{q}" for q in range(QUERIES)]), ids)


def simulated(scale=1.0, *, users=None, n=6000, seed=0, scores=True, lists_of=lists) -> LogFile:
    """A log that stands alone, of a Plackett-Luce policy with scores of some scale."""
    data = lists_of()
    rng = np.random.default_rng(seed)
    policy = scale * rng.normal(size=data.n_documents)
    judged = replace(data, labels=np.round(rng.uniform(0, 4, data.n_documents)))
    model = users or PositionBased()
    parts = {
        split: simulate_statistics(judged, policy, model, n=m, top_k=TOP_K, rng=rng)
        for split, m in (("train", n), ("valid", n // 2))
    }
    return LogFile(parts, policy if scores else None, {"format": "long"}, data.fingerprint, data)


def findings(log: LogFile, model=None) -> dict:
    return {one.name: one for one in find_all(Evidence(log, model))}


def shown(i, depth=4, clicks=()):
    return [
        {"session": i, "query": f"q{i % 3}", "position": p, "doc": (i + p) % 7,
         "click": int(p in clicks), "user": f"u{i % 30}", "time": i}
        for p in range(1, depth + 1)
    ]  # fmt: skip
