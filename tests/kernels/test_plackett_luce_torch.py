"""Guards the torch form of the race: the numbers of the compiled one, and those of enumeration."""

import numpy as np
import pytest
import torch

from cltr.errors import UsageError
from cltr.kernels import devices, plackett_luce_torch
from cltr.plugins import registry
from cltr.policies import PlackettLuce
from cltr.training.exact_ranker import Exact
from cltr.types import Lists
from tests import enumeration

DCG = 1 / np.log2(np.arange(2, 7))
TORCH, NUMBA = PlackettLuce(backend="torch"), PlackettLuce()


def lists_of(*lengths: int, scale: float, seed: int = 0):
    """Scores and slopes of several lists, end to end."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    scores, slopes = rng.normal(size=(2, offsets[-1]))
    return scale * scores, slopes, Lists.of_offsets(offsets)


@pytest.mark.parametrize("rank_weights", [DCG, DCG[:1], np.array([0.2, -1.0, 0.7])], ids=str)
@pytest.mark.parametrize("scale", [0.1, 1.0, 6.0])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_weights_and_gradient_equal_enumeration(n, scale, rank_weights):
    scores, slopes, lists = lists_of(n, scale=scale)
    found = TORCH.expected_weights(scores, lists, rank_weights)
    expected = enumeration.expected_weights(scores, rank_weights)
    np.testing.assert_allclose(found, expected, atol=1e-7)

    def utility(at):
        return float(slopes @ enumeration.expected_weights(at, rank_weights))

    found = TORCH.gradient(scores, slopes, lists, rank_weights)
    np.testing.assert_allclose(found, enumeration.finite_difference(utility, scores), atol=1e-7)


@pytest.mark.parametrize("accuracy", [1e-4, 1e-7, 1e-11])
@pytest.mark.parametrize("scale", [0.0, 1.0, 6.0, 300.0])
def test_the_numbers_are_those_of_the_compiled_form(scale, accuracy):
    """Lists of many lengths, none and one among them, some so peaked that gaps are narrowed."""
    scores, slopes, lists = lists_of(0, 1, 3, 40, 7, 0, 61, scale=scale)
    compiled, plain = (PlackettLuce(accuracy=accuracy, backend=b) for b in ("numba", "torch"))
    for found, expected in (
        (each.expected_weights(scores, lists, DCG) for each in (plain, compiled)),
        (each.gradient(scores, slopes, lists, DCG) for each in (plain, compiled)),
        (each.rank_distribution(scores, lists, 4) for each in (plain, compiled)),
    ):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=accuracy)


def test_padded_batches_and_small_chunks_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    mask = np.arange(9) < rng.integers(0, 10, 12)[:, None]
    scores = np.where(mask, rng.normal(size=mask.shape), -np.inf)
    lists = Lists.of_mask(mask)
    expected = NUMBA.expected_weights(scores, lists, DCG)
    monkeypatch.setattr(devices, "CELLS_AT_ONCE", 50)
    found = TORCH.expected_weights(scores, lists, DCG)
    assert found.shape == mask.shape
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_tensors_of_a_batch_are_taken_as_they_are():
    scores, slopes = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 3, 8)))
    mask, weights = torch.ones(3, 8, dtype=torch.bool), torch.from_numpy(DCG)
    found = plackett_luce_torch.gradient(scores, slopes, mask, weights, accuracy=1e-7)
    lists = Lists.of_mask(mask.numpy())
    expected = NUMBA.gradient(scores.numpy(), slopes.numpy(), lists, DCG)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


def test_the_ranker_takes_it_by_an_option():
    ranker = registry().find("ranker", "exact")(backend="torch")
    assert ranker.policy == PlackettLuce(backend="torch")
    assert Exact().policy == PlackettLuce()


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(UsageError, match=r"^device 'abacus' cannot be used: .*; try cpu$"):
        PlackettLuce(backend="torch", device="abacus").expected_weights(
            np.zeros(2), Lists.of_offsets(np.array([0, 2])), DCG
        )
