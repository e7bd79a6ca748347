"""Guards the network's passes: scores and gradients as torch's, the same bits by any threads."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cltr.studies.portable_arithmetic import CHOICES
from cltr.training import network_pass
from cltr.training.network_pass import (
    MULTIPLE,
    ROWS,
    SMALL_SLOPE,
    backward,
    forward,
    network_scores,
    without_small_slopes,
)
from cltr.training.products import ONEDNN, TORCH, Products, chosen_products, mkl_at_its_best
from cltr.training.scorers import _feed_forward
from cltr.training.threads import by_threads, one_ahead
from cltr.training.torch_model import Tensors

SHAPES = [(5, 1), (23, 7, 1), (136, 150, 75, 1), (9, 4, 6, 3, 1)]
SIZES = [1, MULTIPLE, 100, ROWS // 2 + 1, 2 * ROWS + 777]


def network(widths):
    """Layers and inputs, from a seed."""
    torch.manual_seed(0)
    return _feed_forward(widths).layers, torch.randn(3 * ROWS, widths[0])


def linear(layers):
    return [(one.weight, one.bias) for one in layers if hasattr(one, "weight")]


def learned(scores, layers, slopes):
    """The gradients of all layers."""
    layers.zero_grad()
    (scores * slopes).sum().backward()
    return [one.grad.clone() for one in layers.parameters()]


@pytest.mark.parametrize("widths", SHAPES)
@pytest.mark.parametrize("n", SIZES)
def test_scores_and_gradients_are_those_of_torch(widths, n):
    layers, inputs = network(list(widths))
    inputs, slopes = inputs[:n], torch.randn(n)
    own, torchs = network_scores(inputs, linear(layers)), layers(inputs).squeeze(-1)
    torch.testing.assert_close(own, torchs, rtol=1e-5, atol=1e-6)
    found, expected = (learned(scores, layers, slopes) for scores in (own, torchs))
    for ours, theirs in zip(found, expected, strict=True):
        largest = float(theirs.abs().max())
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5 * largest + 1e-6)
    with torch.no_grad():
        torch.testing.assert_close(network_scores(inputs, linear(layers)), own, rtol=0, atol=0)


@pytest.mark.parametrize("widths", [*SHAPES, (136, 64, 32, 1), (1, 1), (300, 16, 1)])
@pytest.mark.parametrize("n", [1, 17, 1024])
def test_products_of_torch_give_the_bits_of_differentiation(widths, n):
    layers, inputs = network(list(widths))
    inputs, slopes = inputs[:n], torch.randn(n)
    expected = layers(inputs).squeeze(-1)
    between, scores = forward(inputs, linear(layers), TORCH)
    assert torch.equal(scores, expected)
    found = backward(between, slopes, linear(layers), TORCH)
    for ours, theirs in zip(found, learned(expected, layers, slopes), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize(
    ("processor", "expected"),
    [
        ("znver4", ONEDNN),
        ("emeraldrapids", Products(ONEDNN.through, TORCH.gradient)),
        ("skylake-avx512", Products(ONEDNN.through, TORCH.gradient)),
    ],
)
def test_gradients_of_weights_are_by_mkl_on_processors_of_intel(processor, expected, monkeypatch):
    monkeypatch.delenv("MKL_CBWR", raising=False)
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_name", lambda: processor)
    monkeypatch.setattr("torch.backends.mkl.is_available", lambda: True)
    mkl_at_its_best.cache_clear()
    try:
        assert chosen_products() == expected
        monkeypatch.setattr("torch.backends.mkl.is_available", lambda: False)
        mkl_at_its_best.cache_clear()
        assert chosen_products() == ONEDNN
    finally:
        mkl_at_its_best.cache_clear()


@pytest.mark.parametrize("n", [1, 100, ROWS])
@pytest.mark.parametrize("widths", [(1, 1), (136, 150), (9, 4)])
def test_products_of_both_libraries_are_the_same_but_for_rounding(widths, n):
    torch.manual_seed(0)
    values, weights = torch.randn(n, widths[0]), torch.randn(widths[1], widths[0])
    bias, slopes = torch.randn(widths[1]), torch.randn(n, widths[1])
    for then in ("none", "relu"):
        ours, theirs = (one.through(values, weights, bias, then) for one in (ONEDNN, TORCH))
        if then == "relu":
            theirs = theirs.relu()
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    ours, theirs = (one.gradient(slopes, values) for one in (ONEDNN, TORCH))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("n", SIZES)
def test_the_bits_do_not_depend_on_the_number_of_threads(n):
    layers, inputs = network([23, 12, 1])
    slopes = torch.randn(n)
    found, before = [], torch.get_num_threads()
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            scores = network_scores(inputs[:n], linear(layers))
            found.append([scores.detach(), *learned(scores, layers, slopes)])
            few, offsets = peaked(n, 3)
            scores = network_scores(inputs[:n], linear(layers), offsets)
            found[-1] += learned(scores, layers, few)
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


def peaked(n, lists):
    """Slopes of lists, a few large and most next to nothing; where lists begin."""
    rng = np.random.default_rng(n)
    ends = np.sort(rng.integers(0, n + 1, lists - 1))
    slopes = torch.from_numpy(rng.normal(size=n) * 10.0 ** rng.integers(-9, 1, n)).float()
    return slopes, torch.from_numpy(np.concatenate([[0], ends, [n]]))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("lists", [1, 7, 150])
def test_small_slopes_are_left_out_and_no_others(n, lists):
    layers, inputs = network([23, 12, 1])
    slopes, offsets = peaked(n, lists)
    kept = without_small_slopes(slopes, offsets)
    assert n < MULTIPLE or 0 < int((kept == 0).sum()) < n
    found = learned(network_scores(inputs[:n], linear(layers), offsets), layers, slopes)
    expected = learned(layers(inputs[:n]).squeeze(-1), layers, kept)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5 * float(theirs.abs().max()))


@given(
    st.lists(
        st.lists(st.floats(-1e6, 1e6, width=32), max_size=9),
        min_size=1,
        max_size=5,
    )
)
def test_a_list_loses_next_to_nothing_law(given_lists):
    ends = np.cumsum([0, *map(len, given_lists)])
    slopes = torch.tensor([one for each in given_lists for one in each], dtype=torch.float32)
    kept = without_small_slopes(slopes, torch.from_numpy(ends))
    lost = (slopes - kept).double().abs()
    assert torch.equal(kept[kept != 0], slopes[kept != 0])
    for first, last in pairwise(ends):
        whole = float(slopes[first:last].double().abs().sum())
        assert float(lost[first:last].sum()) <= SMALL_SLOPE * whole * (1 + 1e-6)


def test_lists_without_slopes_teach_nothing():
    layers, inputs = network([9, 4, 1])
    offsets = torch.tensor([0, 60, 100])
    scores = network_scores(inputs[:100], linear(layers), offsets)
    assert all(not one.any() for one in learned(scores, layers, torch.zeros(100)))


def test_training_leaves_small_slopes_out_where_arithmetic_is_fast(monkeypatch):
    torch.manual_seed(1)
    monkeypatch.delenv("MKL_CBWR", raising=False)
    module, (slopes, offsets) = _feed_forward([5, 3, 1]), peaked(300, 3)
    documents = Tensors(torch.randn(300, 5), torch.arange(300), offsets, None)

    def gradients(given):
        return learned(module(documents), module.layers, given)

    fast, of_kept = gradients(slopes), gradients(without_small_slopes(slopes, offsets))
    assert all(torch.equal(a, b) for a, b in zip(fast, of_kept, strict=True))
    monkeypatch.setenv("MKL_CBWR", CHOICES["MKL_CBWR"])
    alike, of_kept = gradients(slopes), gradients(without_small_slopes(slopes, offsets))
    assert not all(torch.equal(a, b) for a, b in zip(alike, of_kept, strict=True))


def test_products_of_torch_are_used_where_all_processors_should_compute_alike(monkeypatch):
    module = _feed_forward([3, 2, 1])
    documents = Tensors(torch.randn(5, 3), None, None, None)
    assert chosen_products() != TORCH
    monkeypatch.setenv("MKL_CBWR", CHOICES["MKL_CBWR"])
    assert chosen_products() == TORCH
    monkeypatch.setattr(network_pass, "forward", None)  # not called
    torch.testing.assert_close(module(documents), module.layers(documents.features).squeeze(-1))


def test_no_row_is_lost_and_few_shapes_occur():
    for n in [*range(1, 300), *SIZES, 65_536]:
        blocks = network_pass._blocks(torch.ones(n, 1))
        assert sum(float(block.sum()) for block in blocks) == n
        assert all(len(block) % MULTIPLE == 0 and len(block) <= ROWS for block in blocks)


@pytest.mark.parametrize("aside", [True, False])
def test_what_is_made_ahead_is_what_map_gives(aside):
    made = []

    def square(number):
        if number == 7:
            raise ValueError("seven")
        made.append(number)
        return number**2

    assert list(one_ahead(square, range(5), aside=aside)) == [0, 1, 4, 9, 16]
    assert list(one_ahead(square, [], aside=aside)) == []
    with pytest.raises(ValueError, match="seven"):
        list(one_ahead(square, range(5, 9), aside=aside))
    made.clear()
    ahead = one_ahead(square, range(5), aside=aside)
    assert next(ahead) == 0
    ahead.close()
    assert made == ([0, 1] if aside else [0])


def test_an_error_of_another_thread_is_raised():

    def fail(number):
        if number == 7:
            raise ValueError("seven")
        return number

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert by_threads(fail, range(7)) == list(range(7))
        with pytest.raises(ValueError, match="seven"):
            by_threads(fail, range(20))
        assert by_threads(np.sqrt, []) == []
    finally:
        torch.set_num_threads(before)
