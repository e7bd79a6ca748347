"""Guards the exact kernel: omega and its gradient, to the accuracy asked, on any list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.errors import NotFiniteError
from cltr.kernels.plackett_luce import nodes_per_octave
from cltr.policies import PlackettLuce
from cltr.types import Lists
from tests import enumeration, strategies

ACCURACIES = (1e-3, 1e-5, 1e-7, 1e-9, 1e-12)
SCALES = (0.1, 1.0, 3.0, 6.0, 20.0, 60.0)
DCG = 1 / np.log2(np.arange(2, 7))
RANK_WEIGHTS = {
    "one rank": np.array([1.0]),
    "dcg": DCG,
    "clicks": np.array([1.0, 0.79, 0.70, 0.65, 0.60]),
    "only the last rank": np.array([0.0, 0.0, 1.0]),
    "neither falling nor positive": np.array([0.2, -1.0, 0.7, 0.0, 0.5]),
    "longer than the list": np.array([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, -0.3]),
}


def one_list(n: int) -> Lists:
    return Lists.of_offsets(np.array([0, n]))


def weights_of(scores, rank_weights, *, accuracy: float = 1e-7) -> np.ndarray:
    policy = PlackettLuce(accuracy=accuracy)
    return policy.expected_weights(scores, one_list(len(scores)), rank_weights)


def gradient_of(scores, slopes, rank_weights, *, accuracy: float = 1e-7) -> np.ndarray:
    policy = PlackettLuce(accuracy=accuracy)
    return policy.gradient(scores, slopes, one_list(len(scores)), rank_weights)


def normal(n: int, *, scale: float, seed: int = 0) -> np.ndarray:
    return scale * np.random.default_rng(seed).normal(size=n)


@pytest.mark.parametrize("rank_weights", RANK_WEIGHTS.values(), ids=RANK_WEIGHTS)
@pytest.mark.parametrize("scale", SCALES)
def test_weights_equal_enumeration_to_the_accuracy_asked(scale, rank_weights):
    for seed in range(3):
        scores = normal(5, scale=scale, seed=seed)
        expected = enumeration.expected_weights(scores, rank_weights)
        for accuracy in ACCURACIES:
            found = weights_of(scores, rank_weights, accuracy=accuracy)
            assert np.abs(found - expected).max() <= accuracy * np.abs(rank_weights).max()


@pytest.mark.parametrize("rank_weights", [DCG, DCG[:2], DCG[:1]], ids=["5", "2", "1"])
@pytest.mark.parametrize("scale", SCALES)
def test_small_weights_have_as_many_right_digits_as_large_ones(scale, rank_weights):
    """What ratios of weights, and so the certificate, stand on."""
    for seed in range(3):
        scores = normal(5, scale=scale, seed=seed)
        expected = enumeration.expected_weights(scores, rank_weights)
        for accuracy in ACCURACIES[1:]:
            found = weights_of(scores, rank_weights, accuracy=accuracy)
            assert np.abs(found / expected - 1).max() <= accuracy


@pytest.mark.parametrize("rank_weights", RANK_WEIGHTS.values(), ids=RANK_WEIGHTS)
@pytest.mark.parametrize("scale", SCALES)
def test_gradient_equals_finite_difference_of_enumeration(scale, rank_weights):
    rng = np.random.default_rng(1)
    scores, slopes = scale * rng.normal(size=5), rng.normal(size=5)

    def utility(at):
        return float(slopes @ enumeration.expected_weights(at, rank_weights))

    expected = enumeration.finite_difference(utility, scores)
    for accuracy in ACCURACIES:
        found = gradient_of(scores, slopes, rank_weights, accuracy=accuracy)
        assert np.abs(found - expected).max() <= max(2 * accuracy, 1e-10)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("top_k", [1, 2, 5])
def test_lists_as_short_as_one_document(n, top_k):
    scores, slopes, rank_weights = normal(n, scale=2.0), normal(n, scale=1.0, seed=1), DCG[:top_k]
    expected = enumeration.expected_weights(scores, rank_weights)
    np.testing.assert_allclose(weights_of(scores, rank_weights), expected, atol=1e-7)

    def utility(at):
        return float(slopes @ enumeration.expected_weights(at, rank_weights))

    expected = enumeration.finite_difference(utility, scores)
    np.testing.assert_allclose(gradient_of(scores, slopes, rank_weights), expected, atol=1e-7)


def test_a_single_document_always_comes_first_and_nothing_moves_it():
    assert weights_of(np.array([3.0]), DCG)[0] == pytest.approx(1.0, abs=1e-7)
    assert gradient_of(np.array([3.0]), np.array([2.0]), DCG)[0] == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("scale", SCALES)
def test_long_lists_equal_the_closed_form_of_two_ranks(scale):
    scores = normal(1000, scale=scale)
    first = np.exp(scores - scores.max())
    first /= first.sum()
    # P(second = d) = sum over the first one f of P(f) * P(d) / (1 - P(f)).
    odds = first / (1 - first)
    second = first * (odds.sum() - odds)
    found = weights_of(scores, np.array([1.0, 0.5]))
    assert np.abs(found - (first + 0.5 * second)).max() < 1e-7


@pytest.mark.parametrize("top_k", [5, 30, 80])
def test_asking_for_more_accuracy_changes_no_more_than_was_promised(top_k):
    scores, rank_weights = normal(120, scale=2.0), 1 / np.log2(np.arange(2, top_k + 2))
    fine = weights_of(scores, rank_weights, accuracy=1e-13)
    for accuracy in (1e-4, 1e-7, 1e-10):
        found = weights_of(scores, rank_weights, accuracy=accuracy)
        assert np.abs(found - fine).max() < accuracy


def test_very_peaked_lists_are_ranked_by_score():
    scores = np.array([-50.0, 0.0, -150.0, -100.0])
    np.testing.assert_allclose(weights_of(scores, DCG), DCG[[1, 0, 3, 2]], atol=1e-7)
    slopes = np.array([1.0, -1.0, 2.0, 0.5])
    np.testing.assert_allclose(gradient_of(scores, slopes, DCG), 0.0, atol=1e-7)


@pytest.mark.parametrize("scale", [3.0, 12.0, 40.0, 100.0])
@pytest.mark.parametrize("rank_weights", [DCG, DCG[:1], np.linspace(1.0, 0.1, 30)], ids=len)
def test_peaked_lists_are_as_exact_as_where_every_document_is_walked(scale, rank_weights):
    """The compiled race leaves out who has arrived or cannot have; the one in torch does not."""
    scores, slopes = normal(60, scale=scale), normal(60, scale=1.0, seed=1)
    plain = PlackettLuce(accuracy=1e-12, backend="torch")
    expected = plain.expected_weights(scores, one_list(60), rank_weights)
    found = weights_of(scores, rank_weights)
    assert np.abs(found - expected).max() <= 1e-7
    assert np.abs(found / expected - 1)[expected > 1e-250].max() <= 1e-7
    expected = plain.gradient(scores, slopes, one_list(60), rank_weights)
    assert np.abs(gradient_of(scores, slopes, rank_weights) - expected).max() <= 1e-7


def test_scores_that_are_no_numbers_are_refused():
    scores = np.array([1.0, np.nan, 2.0, 3.0])
    with pytest.raises(NotFiniteError):
        weights_of(scores, DCG)
    with pytest.raises(NotFiniteError):
        gradient_of(scores, np.ones(4), DCG)


def test_equal_scores_share_the_weight_equally():
    np.testing.assert_allclose(weights_of(np.full(200, 7.0), DCG), DCG.sum() / 200, atol=1e-7)


def test_more_ranks_or_accuracy_never_need_fewer_nodes():
    by_rank = [nodes_per_octave(top_k, 1e-7) for top_k in range(1, 200)]
    by_accuracy = [nodes_per_octave(5, 10.0**-digits) for digits in range(1, 14)]
    assert by_rank == sorted(by_rank)
    assert by_accuracy == sorted(by_accuracy)
    assert set(by_rank) | set(by_accuracy) == {1, 2, 4, 8, 16}


@pytest.mark.parametrize("scale", [0.0, 1.0, 4.0])
def test_hundreds_of_ranks_are_as_accurate_as_few(scale):
    """Equal documents are the sharpest race: each gets the same share, whatever K."""
    scores, rank_weights = normal(400, scale=scale), 1 / np.log2(np.arange(2, 302))
    slopes = normal(400, scale=1.0, seed=1)
    found = weights_of(scores, rank_weights)
    assert np.abs(found - weights_of(scores, rank_weights, accuracy=1e-12)).max() < 1e-7
    assert found.sum() == pytest.approx(rank_weights.sum(), abs=1e-6)
    fine = gradient_of(scores, slopes, rank_weights, accuracy=1e-12)
    assert np.abs(gradient_of(scores, slopes, rank_weights) - fine).max() < 1e-7
    if scale == 0:
        np.testing.assert_allclose(found, rank_weights.sum() / 400, atol=1e-9)


def test_as_many_ranks_as_documents_share_out_all_weight():
    scores, rank_weights = normal(150, scale=2.0), np.linspace(1.0, 0.1, 150)
    assert weights_of(scores, rank_weights).sum() == pytest.approx(rank_weights.sum(), abs=1e-5)
    np.testing.assert_allclose(weights_of(scores, np.ones(150)), 1.0, atol=1e-6)


@given(batch=strategies.batches(), rank_weights=strategies.rank_weights())
def test_law_weights_sum_to_the_metric_of_the_ranks_there_are(batch, rank_weights):
    weights = PlackettLuce().expected_weights(batch.scores, batch.lists, rank_weights)
    for start, stop in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
        total = rank_weights[: stop - start].sum()
        assert weights[start:stop].sum() == pytest.approx(total, abs=1e-6)


@given(data=st.data(), batch=strategies.batches(), rank_weights=strategies.rank_weights())
def test_law_a_shift_of_all_scores_changes_nothing(data, batch, rank_weights):
    shift = data.draw(strategies.floats(-500, 500))
    policy = PlackettLuce()
    slopes = data.draw(strategies.arrays(len(batch.scores), -2, 2))
    moved = batch.scores + shift
    np.testing.assert_allclose(
        policy.expected_weights(moved, batch.lists, rank_weights),
        policy.expected_weights(batch.scores, batch.lists, rank_weights),
        atol=1e-7,
    )
    gradient = policy.gradient(batch.scores, slopes, batch.lists, rank_weights)
    np.testing.assert_allclose(
        policy.gradient(moved, slopes, batch.lists, rank_weights), gradient, atol=1e-6
    )
    # The same law for the gradient: along a common shift the objective is flat.
    for start, stop in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
        assert gradient[start:stop].sum() == pytest.approx(0.0, abs=1e-6)


@given(data=st.data(), n=st.integers(1, 8), rank_weights=strategies.rank_weights())
def test_law_permuting_documents_permutes_results(data, n, rank_weights):
    scores = data.draw(strategies.scores(n))
    slopes = data.draw(strategies.arrays(n, -2, 2))
    order = np.array(data.draw(st.permutations(range(n))))
    np.testing.assert_allclose(
        weights_of(scores[order], rank_weights), weights_of(scores, rank_weights)[order], atol=1e-12
    )
    # Of equal documents one may still be far when the other is near: far below the accuracy.
    np.testing.assert_allclose(
        gradient_of(scores[order], slopes[order], rank_weights),
        gradient_of(scores, slopes, rank_weights)[order],
        atol=1e-8,
    )


@given(data=st.data(), batch=strategies.batches(), extra=st.integers(0, 3))
def test_law_padding_changes_nothing_and_gets_nothing(data, batch, extra):
    rows, mask = batch.padded(int(np.diff(batch.offsets).max()) + extra)
    slopes = data.draw(strategies.arrays(len(batch.scores), -2, 2))
    padded_slopes = np.zeros(mask.shape)
    padded_slopes[mask] = slopes
    policy, lists = PlackettLuce(), Lists.of_mask(mask)
    weights = policy.expected_weights(rows, lists, DCG)
    gradient = policy.gradient(rows, padded_slopes, lists, DCG)
    assert np.array_equal(weights[mask], policy.expected_weights(batch.scores, batch.lists, DCG))
    assert np.array_equal(gradient[mask], policy.gradient(batch.scores, slopes, batch.lists, DCG))
    assert not weights[~mask].any()
    assert not gradient[~mask].any()


@given(
    batch=strategies.batches(), rank_weights=strategies.rank_weights(), factor=st.integers(-3, 3)
)
def test_law_weights_are_linear_in_the_metric(batch, rank_weights, factor):
    policy = PlackettLuce()
    once = policy.expected_weights(batch.scores, batch.lists, rank_weights)
    scaled = policy.expected_weights(batch.scores, batch.lists, factor * rank_weights)
    np.testing.assert_allclose(scaled, factor * once, atol=1e-12)


def test_same_bits_with_one_and_two_threads(run_python):
    code = """
import hashlib
import numpy as np
from cltr.policies import PlackettLuce
from cltr.types import Lists
rng = np.random.default_rng(0)
offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 60, 200))])
scores, slopes = rng.normal(size=(2, offsets[-1])) * 3
lists, rank_weights = Lists.of_offsets(offsets), np.array([1.0, 0.6, 0.5, 0.4, 0.3])
weights = PlackettLuce().expected_weights(scores, lists, rank_weights)
gradient = PlackettLuce().gradient(scores, slopes, lists, rank_weights)
print(hashlib.sha256(weights.tobytes() + gradient.tobytes()).hexdigest())
"""
    one, two = (run_python(code, NUMBA_NUM_THREADS=threads) for threads in ("1", "2"))
    assert one == two


def test_several_rank_weights_have_the_bits_of_each_alone():
    rng = np.random.default_rng(3)
    scores = np.concatenate([rng.normal(scale=scale, size=40) for scale in SCALES])
    lists = Lists.of_offsets(np.array([0, 1, 4, 60, 60, len(scores)]))
    table = [DCG, np.ones(5), RANK_WEIGHTS["neither falling nor positive"], *np.eye(5)]
    found = PlackettLuce().several_weights(scores, lists, table)
    for together, weights in zip(found, table, strict=True):
        alone = PlackettLuce().expected_weights(scores, lists, weights)
        np.testing.assert_array_equal(together, alone)
