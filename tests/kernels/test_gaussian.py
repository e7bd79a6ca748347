"""Guards the Gaussian policy: omega to the accuracy asked, on any list and for any sigma."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cltr.policies import Deterministic, Gaussian
from cltr.types import Lists
from tests import strategies

DCG = 1 / np.log2(np.arange(2, 7))
ODD = np.array([0.2, 1.0, -0.5])
NODES, NODE_WEIGHTS = 9 * np.array(np.polynomial.legendre.leggauss(200))


def one_list(scores):
    return Lists.of_offsets(np.array([0, len(scores)]))


def by_quadrature(scores, rank_weights, sigma):
    """The integral of each document's density times the weight of the rank it gets there."""
    depth = min(len(rank_weights), len(scores))
    result = []
    for d, score in enumerate(scores):
        above = np.zeros((len(scores), len(NODES)))  # [i]: the chance that i others lie above
        above[0] = 1.0
        for other in np.delete(scores, d):
            p = stats.norm.sf(score + sigma * NODES, other, sigma)
            above[1:] = (1 - p) * above[1:] + p * above[:-1]
            above[0] *= 1 - p
        inner = rank_weights[:depth] @ above[:depth]
        result.append((NODE_WEIGHTS * stats.norm.pdf(NODES) * inner).sum())
    return np.array(result)


@pytest.mark.parametrize("accuracy", [1e-4, 1e-7, 1e-11])
@pytest.mark.parametrize("rank_weights", [DCG, ODD, DCG[:1]], ids=["dcg", "odd", "one rank"])
@pytest.mark.parametrize(("n", "scale"), [(1, 1.0), (2, 3.0), (6, 0.0), (6, 0.5), (6, 10.0)])
def test_weights_equal_the_integral(n, scale, rank_weights, accuracy):
    scores = scale * np.random.default_rng(n).normal(size=n)
    policy = Gaussian(sigma=0.7, accuracy=accuracy)
    found = policy.expected_weights(scores, one_list(scores), rank_weights)
    np.testing.assert_allclose(
        found, by_quadrature(scores, rank_weights, 0.7), rtol=0, atol=1.5 * accuracy
    )


def test_two_documents_meet_in_closed_form():
    scores, sigma = np.array([0.3, -0.4]), 0.5
    first = stats.norm.cdf(0.7 / (sigma * np.sqrt(2)))
    found = Gaussian(sigma=sigma).expected_weights(scores, one_list(scores), np.array([1.0]))
    np.testing.assert_allclose(found, [first, 1 - first], atol=1e-7)


@pytest.mark.parametrize(("n", "top_k"), [(60, 1), (60, 60), (1000, 5), (300, 30)])
def test_equal_documents_share_every_rank(n, top_k):
    policy = Gaussian(accuracy=1e-9)
    ranks = policy.rank_distribution(np.zeros(n), one_list(np.zeros(n)), top_k)
    np.testing.assert_allclose(ranks, 1 / n, rtol=0, atol=1e-8)


@given(data=st.data())
def test_laws(data):
    batch = data.draw(strategies.batches())
    rank_weights = data.draw(strategies.rank_weights())
    policy = Gaussian(sigma=data.draw(st.sampled_from([0.01, 1.0, 30.0])))
    found = policy.expected_weights(batch.scores, batch.lists, rank_weights)

    totals = [rank_weights[:n].sum() for n in batch.lists.lengths]
    sums = [found[a:b].sum() for a, b in zip(batch.offsets, batch.offsets[1:], strict=False)]
    np.testing.assert_allclose(sums, totals, atol=1e-5)

    scores, mask = batch.padded(10)
    padded = policy.expected_weights(scores, Lists.of_mask(mask), rank_weights)
    np.testing.assert_array_equal(padded[mask], found)
    assert not padded[~mask].any()

    shifted = policy.expected_weights(batch.scores + 5.0, batch.lists, rank_weights)
    np.testing.assert_allclose(shifted, found, atol=2e-6)

    turned = policy.expected_weights(
        batch.scores[::-1], Lists.of_offsets(_turned(batch)), rank_weights
    )
    np.testing.assert_allclose(turned[::-1], found, atol=2e-6)


def _turned(batch):
    return batch.offsets[-1] - batch.offsets[::-1]


@given(scores=strategies.arrays(7, -1.0, 1.0), rank_weights=strategies.rank_weights())
def test_little_noise_is_the_deterministic_policy(scores, rank_weights):
    scores = scores.round(2) + 1e-3 * np.arange(7)
    found = Gaussian(sigma=1e-5).expected_weights(scores, one_list(scores), rank_weights)
    expected = Deterministic().expected_weights(scores, one_list(scores), rank_weights)
    np.testing.assert_allclose(found, expected, atol=1e-6)
