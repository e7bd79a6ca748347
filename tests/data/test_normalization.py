"""Guards normalisation: the formulas, and that neither blocks nor scale matter."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cltr.data.normalization import NORMALIZATIONS, Normalization, fit_normalization


def raw_blocks(draw_seed, blocks=3):
    rng = np.random.default_rng(draw_seed)
    return [
        (rng.standard_normal((int(n), 3)) * [1, 100, 0] + [0, 1e6, 5]).astype(np.float32)
        for n in rng.integers(1, 20, blocks)
    ]


def test_z_score_is_mean_and_deviation_of_each_feature():
    blocks = raw_blocks(0)
    whole = np.concatenate(blocks).astype(np.float64)
    fitted = fit_normalization("z-score", blocks)
    expected = (whole - whole.mean(0)) / np.maximum(whole.std(0), 1e-9)
    found = fitted.apply(np.concatenate(blocks), np.array([0, len(whole)]))
    assert np.allclose(found[:, :2], expected[:, :2], atol=1e-4)
    assert not found[:, 2].any()


def test_log1p_z_score_is_odd_and_tames_long_tails():
    raw = np.array([[0.0], [np.e - 1], [1 - np.e]], np.float32)
    fitted = fit_normalization("log1p-z-score", [raw])
    found = fitted.apply(raw, np.array([0, 3]))
    assert np.allclose(found[:, 0], np.array([0, 1, -1]) / np.sqrt(2 / 3), atol=1e-6)


def test_query_min_max_is_by_list():
    raw = np.array([[1.0], [3.0], [2.0], [7.0], [7.0]], np.float32)
    found = Normalization("query-min-max").apply(raw, np.array([0, 3, 5]))
    assert found[:, 0].tolist() == [0.0, 1.0, 0.5, 0.0, 0.0]


@given(seed=st.integers(0, 10**6), name=st.sampled_from(NORMALIZATIONS))
def test_blocks_and_scale_do_not_matter(seed, name):
    blocks = raw_blocks(seed)
    whole = np.concatenate(blocks)
    offsets = np.cumsum([0, *map(len, blocks)])
    one, many = fit_normalization(name, [whole]), fit_normalization(name, blocks)
    assert np.allclose(one.apply(whole, offsets), many.apply(whole, offsets), atol=1e-3)
    assert np.isfinite(many.apply(whole * np.float32(1e30), offsets)).all()
