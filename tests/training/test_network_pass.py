"""Guards the network's passes: scores and gradients as torch's, the same bits by any threads."""

import numpy as np
import pytest
import torch

from cltr.studies.portable_arithmetic import CHOICES
from cltr.training import network_pass
from cltr.training.network_pass import (
    MULTIPLE,
    ROWS,
    backward,
    forward,
    network_scores,
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
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


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
