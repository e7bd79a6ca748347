"""Guards what exploration is said to cost and to tell: by enumeration, and by exploring."""

from itertools import product

import numpy as np
import pytest

from cltr.checks import Evidence
from cltr.checks.exploration import EXPLORED, explore_by_swapping, swap_matrix
from cltr.logs.log_file import LogFile
from cltr.logs.log_lists import lists_of_log
from cltr.policies.rank_weights import rank_weights
from cltr.types import ClickStatistics


def fixed_log(queries=20, top_k=4, displays=500, clicks=None):
    """Every query always gets its documents in the same order."""
    offsets = np.arange(queries + 1) * top_k
    ids = np.array([f"d{d}" for d in range(queries * top_k)])
    data = lists_of_log(offsets, np.array([f"q{q}" for q in range(queries)]), ids)
    shown = np.tile(displays * np.eye(top_k, dtype=np.int64), (queries, 1))
    part = ClickStatistics(
        shown, shown // 5 if clicks is None else clicks, np.full(queries, displays), offsets
    )
    nothing = ClickStatistics(0 * shown, 0 * shown, 0 * part.displays, offsets)
    return LogFile({"train": part, "valid": nothing}, None, lists=data)


@pytest.mark.parametrize("top_k", [1, 2, 3, 4, 5])
def test_swaps_by_enumeration(top_k):
    """Pairs start at the first or second rank; each is swapped or not."""
    move = np.zeros((top_k, top_k))
    for start in (0, 1):
        pairs = [(first, first + 1) for first in range(start, top_k - 1, 2)]
        for swapped in product((False, True), repeat=len(pairs)):
            order = np.arange(top_k)
            for (a, b), swap in zip(pairs, swapped, strict=True):
                if swap:
                    order[[a, b]] = order[[b, a]]
            move[np.arange(top_k), order] += 0.5 / 2 ** len(pairs)
    assert swap_matrix(top_k) == pytest.approx(move)


def test_the_loss_is_the_certificate_by_hand():
    """The first document loses most: a quarter of the step from weight 1 to weight 2."""
    weights = rank_weights("dcg", 4)
    found = explore_by_swapping(Evidence(fixed_log()))
    assert found.loss == pytest.approx((weights[0] - weights[1]) / 4)
    assert found.largest_loss == pytest.approx(found.loss)
    assert f"at most {100 * EXPLORED * found.loss:.2f} points of NDCG@4" in found.told()


def test_the_promised_error_is_that_of_an_explored_log():
    """Explore, estimate, repeat: the spread of log examination is what was promised."""
    rng = np.random.default_rng(3)
    theta, top_k, displays = 1 / np.arange(1, 5), 4, 500
    relevance = rng.uniform(0.2, 0.8, (80, 1))
    fixed = fixed_log()
    clicks = rng.binomial(fixed.statistics["train"].impressions, relevance * theta)
    promised = explore_by_swapping(Evidence(fixed_log(clicks=clicks))).error
    chances = np.tile((1 - EXPLORED) * np.eye(top_k) + EXPLORED * swap_matrix(top_k), (20, 1))
    found = []
    for _ in range(100):
        shown = rng.binomial(displays, chances)
        part = ClickStatistics(
            shown, rng.binomial(shown, relevance * theta), np.full(20, displays), np.arange(21) * 4
        )
        log = LogFile({"train": part, "valid": part}, None)
        found.append(np.log(Evidence(log).swaps.examination[1:]))
    assert np.median(np.std(found, axis=0)) == pytest.approx(promised, rel=0.3)
