"""Small data that have all that goes wrong: short lists, documents never shown."""

import numpy as np

from cltr.clicks.models import TrustBias
from cltr.clicks.simulation import simulate_statistics
from cltr.exposure.exposure import exact_exposure
from cltr.interfaces import ClickModel
from cltr.policies import PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.types import ClickData, Dataset

TOP_K = 5


def tiny_dataset(n_queries: int = 10, *, seed: int = 0) -> Dataset:
    """A few judged queries with lists of 1 to 12 documents, in all three splits."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 13, size=n_queries)
    lengths[:2] = (1, 3)  # shorter than the display
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n = int(offsets[-1])
    features = rng.normal(size=(n, 6)).astype(np.float32)
    grades = np.clip(np.round(1.5 * features[:, 0] + rng.normal(size=n)), 0, 4)
    half, most = n_queries // 2, (3 * n_queries) // 4
    return Dataset(
        features=features,
        labels=grades.astype(np.float64),
        offsets=offsets,
        query_ids=np.array([f"q{q}" for q in range(n_queries)]),
        document_ids=np.array([f"d{d}" for d in range(n)]),
        splits={"train": (0, half), "valid": (half, most), "test": (most, n_queries)},
        name="tiny",
        fingerprint=f"tiny-{n_queries}-{seed}",
    )


def tiny_clicks(
    click_model: ClickModel | None = None, *, n: int = 2000, seed: int = 0
) -> ClickData:
    """Clicks on the tiny data set under its own relevance, with exact exposure."""
    model = click_model or TrustBias()
    dataset = tiny_dataset(seed=seed)
    scores = dataset.features[:, 1].astype(np.float64)
    rng = np.random.default_rng(seed)
    statistics = simulate_statistics(dataset, scores, model, n=n, top_k=TOP_K, rng=rng)
    exposure = exact_exposure(
        scores, dataset.lists, PlackettLuce(), model, rank_weights("dcg", TOP_K)
    )
    return ClickData(dataset, statistics, exposure)
