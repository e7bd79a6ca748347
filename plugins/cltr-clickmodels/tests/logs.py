"""Simulated logs on lists that are reranked at random, small enough for a test."""

import numpy as np

from cltr.clicks.fit_tools import add_up
from cltr.clicks.simulation import simulate_sessions
from cltr.types import Dataset


def judged(n_queries=20, n_documents=8, *, seed=0, levels=5):
    """Queries whose documents have every grade, and features that tell the grade."""
    rng = np.random.default_rng(seed)
    n = n_queries * n_documents
    grades = rng.integers(0, levels, size=n).astype(np.float64)
    features = np.stack([grades / (levels - 1), rng.normal(size=n)], axis=1)
    return Dataset(
        features=features.astype(np.float32),
        labels=grades,
        offsets=np.arange(n_queries + 1) * n_documents,
        query_ids=np.array([f"q{q}" for q in range(n_queries)]),
        document_ids=np.array([f"d{d}" for d in range(n)]),
        highest_grade=float(levels - 1),
    )


def simulate(users, dataset, *, n=20_000, top_k=5, seed=1, chunk=8_192):
    """Interactions with users, under a policy with random scores that are always the same."""
    scores = np.random.default_rng(0).normal(size=dataset.n_documents)
    rng = np.random.default_rng(seed)
    return list(simulate_sessions(dataset, scores, users, n=n, top_k=top_k, rng=rng, chunk=chunk))


def fit(model, chunks, dataset):
    """Count and fit."""
    model.fit(add_up(model.count(chunk, dataset.offsets) for chunk in chunks), dataset)
    return model
