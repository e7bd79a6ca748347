"""Guards PL-Rank in torch: the compiled numbers from the same rankings, drawn as they should."""

import numpy as np
import pytest
import torch

from cltr.documents import Batch
from cltr.interfaces import Objective
from cltr.policies import PlackettLuce, sample_rankings
from cltr.types import Exposure
from cltr_plrank import PLRank, on_torch

DCG = 1 / np.log2(np.arange(2, 7))


def batch(scale: float, *, rows: int = 6, width: int = 12, seed: int = 0):
    """Padded scores, a list of one and one of none among them, and an objective."""
    from cltr.objectives.plain import Plain

    rng = np.random.default_rng(seed)
    lengths = np.concatenate([[0, 1, 3], rng.integers(4, width + 1, rows - 3)])
    mask = np.arange(width) < lengths[:, None]
    scores = np.where(mask, scale * rng.normal(size=mask.shape), -np.inf)
    weights, rewards = mask * rng.random(mask.shape), mask * rng.normal(size=mask.shape)
    objective = Objective(Plain(), weights, Exposure(weights, weights, weights), rewards)
    return scores, mask, objective, rng


@pytest.mark.parametrize("scale", [0.1, 1.0, 6.0, 100.0])
@pytest.mark.parametrize("samples", [1, 50])
def test_the_same_rankings_give_the_compiled_estimate(scale, samples, monkeypatch):
    scores, mask, objective, rng = batch(scale)
    rankings = sample_rankings(scores, mask, top_k=5, n_samples=samples, rng=rng)
    compiled = PLRank().estimate(Batch(scores, mask, DCG), objective, rankings)
    for cells in (on_torch.CELLS_AT_ONCE, 300):
        monkeypatch.setattr(on_torch, "CELLS_AT_ONCE", cells)
        found = PLRank(backend="torch").estimate(Batch(scores, mask, DCG), objective, rankings)
        np.testing.assert_allclose(found, compiled, atol=1e-11)
        assert not found[~mask].any()


def test_rankings_come_as_often_as_they_should():
    scores, mask, _, _ = batch(1.0)
    tensors = torch.from_numpy(scores), torch.from_numpy(mask)
    drawn = on_torch.sample(*tensors, top_k=5, n_samples=20_000, seed=1).numpy()
    from cltr.types import Lists

    chances = PlackettLuce().rank_distribution(scores, Lists.of_mask(mask), 5)
    for query, rankings in enumerate(drawn):
        for rank in range(5):
            known = rankings[:, rank][rankings[:, rank] >= 0]
            counts = np.bincount(known, minlength=scores.shape[1])
            np.testing.assert_allclose(counts / 20_000, chances[query, :, rank], atol=0.02)
    ended = drawn < 0
    assert np.array_equal(ended.all(1), np.arange(5) >= mask.sum(1)[:, None])


def test_the_seed_decides_and_the_mean_is_the_gradient():
    scores, mask, objective, _ = batch(1.0)
    ranker = PLRank(backend="torch", samples=20_000)

    def run(seed: int) -> np.ndarray:
        return ranker.gradient(Batch(scores, mask, DCG), objective, np.random.default_rng(seed))

    assert np.array_equal(run(1), run(1))
    assert not np.array_equal(run(1), run(2))
    from cltr.types import Lists

    exact = PlackettLuce().gradient(scores, objective.slope, Lists.of_mask(mask), DCG)
    np.testing.assert_allclose(run(1), exact, atol=0.02)
