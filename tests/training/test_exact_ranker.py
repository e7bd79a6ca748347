"""Guards the exact ranker's curvature: the diagonal of the weights' derivative, in expectation."""

from itertools import product

import numpy as np

from cltr.documents import Batch
from cltr.policies import PlackettLuce
from cltr.training.exact_ranker import PROBES, Exact

RANK_WEIGHTS = np.array([1.0, 0.6, 0.5])


class Signs:
    """Stands in for a generator: gives one array of signs after the other."""

    def __init__(self, arrays):
        self.arrays = iter(arrays)

    def choice(self, values, size):
        assert values == [-1.0, 1.0]
        return np.resize(next(self.arrays), size)


def test_over_all_signs_the_curvature_is_the_diagonal():
    """E[z * (J z)] is the diagonal of J. It is checked with every z: there is no chance in it."""
    scores = np.array([[0.4, -0.3, 1.0, -np.inf]])
    mask = np.array([[True, True, True, False]])
    ranker, batch = Exact(accuracy=1e-12), Batch(scores, mask, RANK_WEIGHTS)
    signs = [np.array([[*z, 1.0]]) for z in product([-1.0, 1.0], repeat=3)]
    found = [ranker.curvature(batch, Signs([z] * PROBES)) for z in signs]
    step, expected = 1e-4, np.zeros(3)
    for d in range(3):
        move = step * (np.arange(4) == d)
        up, down = (
            PlackettLuce(accuracy=1e-12).expected_weights(moved, batch.lists, RANK_WEIGHTS)[0, d]
            for moved in (scores + move, scores - move)
        )
        expected[d] = (up - down) / (2 * step)
    np.testing.assert_allclose(np.mean(found, axis=0)[0, :3], expected, rtol=1e-6)
    assert (np.array(found)[:, 0, 3] == 0).all()
    assert (expected > 0).all()


def test_the_seed_decides_the_signs():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4, 9))
    batch = Batch(scores, np.ones(scores.shape, bool), RANK_WEIGHTS)
    first, again, other = (
        Exact().curvature(batch, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
