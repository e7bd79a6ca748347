"""Guards Adam and the step of a torch model: the bits of torch's own, without its compiler."""

import numpy as np
import pytest
import torch

from cltr.documents import Documents, ModelSetup
from cltr.training.adam import Adam
from cltr.training.scorers import Mlp
from cltr.training.torch_model import Tensors
from tests.small import dataset as small_dataset


def parameters() -> list[torch.nn.Parameter]:
    rng = np.random.default_rng(0)
    shapes = ((3, 4), (3,), (1, 3))
    return [
        torch.nn.Parameter(torch.from_numpy(rng.normal(size=shape).astype(np.float32)))
        for shape in shapes
    ]


@pytest.mark.parametrize("often", [1, 3], ids=["all", "one without a gradient now and then"])
def test_it_has_the_bits_of_torch(often):
    ours, theirs = parameters(), parameters()
    mine = Adam(zip("abc", ours, strict=True), learning_rate=0.01, weight_decay=0.3)
    torchs = torch.optim.AdamW(theirs, lr=0.01, weight_decay=0.3, fused=True)
    rng = np.random.default_rng(1)
    for step in range(20):
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            if i == 1 and step % often:
                one.grad = other.grad = None
                continue
            one.grad = torch.from_numpy(rng.normal(size=one.shape).astype(np.float32))
            other.grad = one.grad.clone()
        mine.step()
        torchs.step()
    for one, other in zip(ours, theirs, strict=True):
        assert torch.equal(one, other)
    assert mine.state()["a/steps"] == 20
    assert mine.state()["b/steps"] == -(-20 // often)


def test_a_step_has_the_bits_of_backward_and_torchs_optimizer():
    documents = Documents.of(small_dataset())
    setup = ModelSetup(documents.features.shape[1], len(documents), learning_rate=0.01)
    model, plain = (Mlp().build(setup, seed=3) for _ in range(2))
    optimizer = torch.optim.AdamW(plain.module.parameters(), lr=0.01, weight_decay=0.0, fused=True)
    rng = np.random.default_rng(2)
    for _ in range(5):
        direction = rng.normal(size=len(documents))
        model.step(documents, lambda scores, direction=direction: direction)
        optimizer.zero_grad()
        scores = plain.module(Tensors.of(documents))
        scores.backward(torch.from_numpy(-direction).float())
        optimizer.step()
    assert model.state().keys() == plain.state().keys()
    for name, array in model.state().items():
        assert np.array_equal(array, plain.state()[name])
