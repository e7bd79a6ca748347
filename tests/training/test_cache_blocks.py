"""Guards work in blocks: all rows once, and the same bits as all rows at once."""

import numpy as np
import pytest
import torch

from cltr.documents import Documents, ModelSetup
from cltr.training import scorers
from cltr.training.cache_blocks import ROWS, cache_blocks
from cltr.training.scorers import Linear, Mlp
from cltr.training.standardize import FARTHEST, _shaped, fit_standardization
from cltr.training.torch_model import Tensors


@pytest.mark.parametrize("n", [0, 1, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS - 1, 2 * ROWS, 30_001])
def test_every_row_is_in_one_block(n):
    blocks = list(cache_blocks(n))
    assert np.concatenate([np.arange(n)[rows] for rows in blocks]).tolist() == list(range(n))
    assert len(blocks) == max(n // ROWS, 1)


@pytest.mark.parametrize("n", [3, ROWS + 1, 2 * ROWS + 1, 3 * ROWS + 1237])
@pytest.mark.parametrize("scorer", [Mlp(), Linear()])
def test_scores_have_the_bits_of_all_rows_at_once(monkeypatch, scorer, n):
    """With torch's own products, which all processors compute alike."""
    monkeypatch.setattr(scorers, "fast_products", lambda: False)
    features = np.random.default_rng(n).normal(size=(n, 23)).astype(np.float32)
    documents = Documents(features, np.arange(n), np.array([0, n]), None)
    model = scorer.build(ModelSetup(23, n), seed=0)
    with torch.inference_mode():
        whole = model.module.layers(Tensors.of(documents).features).squeeze(-1)
    assert np.array_equal(model.scores(documents), whole.numpy().astype(np.float64))


def test_standardised_inputs_have_the_bits_of_all_rows_at_once():
    raw = np.random.default_rng(0).lognormal(0, 3, size=(2 * ROWS + 17, 5)).astype(np.float32)
    fitted = fit_standardization(raw[:500])
    values = (_shaped(raw, fitted.tailed, fitted.unit) - fitted.center) / fitted.scale
    whole = np.clip(values, -FARTHEST, FARTHEST).astype(np.float32)
    assert fitted.tailed.any()
    assert np.array_equal(fitted.apply(raw), whole)
