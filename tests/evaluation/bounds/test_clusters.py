"""Guards means over clusters: their error, intervals for few or uneven clusters, diagnostics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cltr.errors import DataError, OptionError
from cltr.evaluation.bounds import (
    ClusterTotals,
    Limits,
    betting_lower,
    cluster_betting_lower,
    cluster_betting_upper,
    cluster_error,
    cluster_interval,
    diagnose_clusters,
    diagnose_weights,
    t_interval,
    wild_interval,
)
from cltr.evaluation.bounds.betting import smallest_kept
from cltr.evaluation.bounds.clusters import DOMINANT_SHARE, FEW_EFFECTIVE_CLUSTERS
from cltr.evaluation.bounds.wild import WEBB

UNIT = Limits(0.0, 1.0)
NEW = "new queries"


@st.composite
def cluster_totals(draw, smallest=2):
    n = draw(st.integers(smallest, 12))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    counts = rng.integers(1, 30, n).astype(float)
    return ClusterTotals(counts * rng.normal(size=n), counts)


def t_at(totals, *, confidence=0.95):
    return t_interval(totals, confidence=confidence, target=NEW)


def wild_at(totals, *, confidence=0.95):
    return wild_interval(totals, confidence=confidence, target=NEW, seed=5, draws=199)


every_interval = pytest.mark.parametrize("interval", [t_at, wild_at])


# Arithmetic


def test_terms_add_up_by_cluster():
    totals = ClusterTotals.of_terms(np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), 4)
    assert totals.sums.tolist() == [2.0, 0.0, 1.0 + 4.0, 0.0]
    assert totals.counts.tolist() == [1.0, 0.0, 2.0, 0.0]
    assert totals.value == pytest.approx((1.0 + 2.0 + 4.0) / 3)


def test_the_error_is_that_of_means_without_one_cluster():
    sums, counts = np.array([3.0, -1.0, 8.0, 2.0]), np.array([2.0, 1.0, 5.0, 3.0])
    value = sums.sum() / counts.sum()
    without = np.array([np.delete(sums, c).sum() / np.delete(counts, c).sum() for c in range(4)])
    expected = np.sqrt(3 / 4 * np.sum((without - value) ** 2))
    assert cluster_error(ClusterTotals(sums, counts)) == pytest.approx(expected)


def test_equal_clusters_have_the_usual_t_interval():
    means = np.random.default_rng(0).normal(size=13)
    found = t_interval(ClusterTotals(7 * means, np.full(13, 7.0)), confidence=0.9, target=NEW)
    low, high = stats.t.interval(0.9, 12, loc=means.mean(), scale=stats.sem(means))
    assert (found.value, found.error) == pytest.approx((means.mean(), stats.sem(means)))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert (found.confidence, found.method, found.target) == (0.9, "clustered t", NEW)


def test_diagnostics_by_formula():
    sums, counts = np.array([1.0, 0.0, 9.0]), np.array([1.0, 2.0, 7.0])
    found = diagnose_clusters(ClusterTotals(sums, counts))
    assert found.clusters == 3
    assert found.effective_clusters == pytest.approx(10**2 / (1 + 4 + 49))
    assert found.largest_share == pytest.approx(7 / 10)
    shifts = np.array([1 / 1 - 1.0, 0 / 2 - 1.0, 9 / 7 - 1.0]) * counts / (10 - counts)
    assert found.largest_variance_share == pytest.approx((shifts**2).max() / (shifts**2).sum())
    weights = diagnose_weights(np.array([0.0, 1.0, 3.0]))
    assert weights == pytest.approx((4**2 / (1 + 9), 3.0, 3 / 4))
    assert diagnose_weights(np.zeros(3)) == (0.0, 0.0, 0.0)
    assert diagnose_weights(np.full(4, 1e200)).effective_sample == pytest.approx(4.0)


def test_a_cluster_dominates_above_the_threshold_only():
    rest = np.full(100, (1 - DOMINANT_SHARE) / 100)
    for share, dominated in ((DOMINANT_SHARE * 0.99, False), (DOMINANT_SHARE * 1.02, True)):
        counts = np.concatenate([[share], rest])
        assert diagnose_clusters(ClusterTotals(counts, counts)).dominated == dominated


def test_webb_weights_have_mean_0_and_variance_1():
    assert len(set(WEBB.round(6))) == 6
    assert WEBB.mean() == pytest.approx(0.0)
    assert (WEBB**2).mean() == pytest.approx(1.0)


def wild_p_value(totals, mean, weights):
    """As in the books: impose the mean, draw errors anew, compare studentised means."""

    def statistic(sums, about):
        value = sums.sum() / counts.sum()
        return (value - about) / np.sqrt(np.sum((sums - value * counts) ** 2))

    sums, counts = totals.sums, totals.counts
    observed = statistic(sums, mean)
    errors = sums - mean * counts
    drawn = np.array([statistic(mean * counts + v * errors, mean) for v in weights])
    return (1 + np.sum(drawn >= observed)) / (1 + len(drawn))


@pytest.mark.parametrize("seed", range(5))
def test_the_wild_interval_ends_where_the_bootstrap_rejects(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 20, 9).astype(float)
    totals = ClusterTotals(counts * rng.normal(2.0, 1.0, 9), counts)
    found = wild_interval(totals, confidence=0.9, target=NEW, seed=seed, draws=399)
    weights = WEBB[np.random.default_rng(seed).integers(6, size=(9, 399), dtype=np.int8)].T
    gap = 1e-4 * (found.value - found.low)
    assert wild_p_value(totals, found.low - gap, weights) <= 0.05
    assert wild_p_value(totals, found.low + gap, weights) > 0.05
    negated, gap = ClusterTotals(-totals.sums, counts), 1e-4 * (found.high - found.value)
    assert wild_p_value(negated, -found.high - gap, weights) <= 0.05
    assert wild_p_value(negated, -found.high + gap, weights) > 0.05
    assert (found.method, found.error) == ("wild cluster bootstrap", cluster_error(totals))


def test_many_clusters_are_drawn_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    totals = ClusterTotals(rng.normal(size=50), np.ones(50))
    monkeypatch.setattr("cltr.evaluation.bounds.wild.BLOCK", 7)
    weights = np.random.default_rng(5)
    drawn = [
        weights.integers(6, size=(min(7, 50 - k), 199), dtype=np.int8) for k in range(0, 50, 7)
    ]
    low = wild_at(totals).low
    drawn = WEBB[np.concatenate(drawn)].T
    assert (
        wild_p_value(totals, low - 1e-5, drawn) <= 0.025 < wild_p_value(totals, low + 1e-5, drawn)
    )


@pytest.mark.parametrize(
    ("counts", "method"),
    [
        (np.ones(FEW_EFFECTIVE_CLUSTERS - 1), "wild cluster bootstrap and t"),
        (np.ones(FEW_EFFECTIVE_CLUSTERS), "clustered t with skewness"),
        (np.append(np.ones(200), 100.0), "wild cluster bootstrap and t"),
    ],
)
def test_few_effective_clusters_get_the_wild_interval(counts, method):
    totals = ClusterTotals(np.arange(len(counts)) * counts, counts)
    found = cluster_interval(totals, confidence=0.95, target=NEW, seed=0)
    assert found.method == method


def test_betting_on_clusters_of_one_is_betting_on_terms():
    terms = np.random.default_rng(0).random(40)
    order = np.random.default_rng(3)
    found = cluster_betting_lower(
        ClusterTotals(terms, np.ones(40)), UNIT, largest_count=1, confidence=0.9, seed=3
    )
    assert found == pytest.approx(betting_lower(terms, UNIT, confidence=0.9, seed=3))
    assert found < terms[order.permutation(40)].mean()


def cluster_capital_as_written(mean, sums, counts, level):
    """Bets on sum - mean * count, cluster by cluster: the largest logarithm of the capital."""
    log_goal, variance, total, largest = np.log(1 / level), 1 / 4, 0.0, -np.inf
    deviations = 0.0
    for i in range(1, len(sums) + 1):
        bet = min(np.sqrt(2 * log_goal / (len(sums) * variance)), 0.5 / mean)
        total += np.log(1 + bet * (sums[i - 1] - mean * counts[i - 1]))
        largest = max(largest, total)
        typical = (1 + counts[:i].sum()) / (i + 1)
        running_mean = (typical / 2 + sums[:i].sum()) / (typical + counts[:i].sum())
        deviations += (sums[i - 1] - running_mean * counts[i - 1]) ** 2
        variance = (typical**2 / 4 + deviations) / (i + 1)
    return largest


def test_cluster_betting_is_the_smallest_mean_that_the_formula_keeps():
    rng = np.random.default_rng(4)
    counts = rng.integers(1, 9, 200) / 8
    sums = counts * rng.beta(1.0, 4.0, 200)
    low = smallest_kept(sums, counts, level=0.1)
    assert 0 < low < 1
    assert cluster_capital_as_written(low, sums, counts, 0.1) >= np.log(1 / 0.1) - 1e-9
    assert cluster_capital_as_written(low + 1e-8, sums, counts, 0.1) < np.log(1 / 0.1)


def test_the_largest_count_sets_the_scale_of_cluster_betting():
    counts = np.random.default_rng(5).integers(1, 4, 80).astype(float)
    sums = counts * np.random.default_rng(6).random(80)
    order = np.random.default_rng(0).permutation(80)
    expected = smallest_kept(sums[order] / 7, counts[order] / 7, level=1 - 0.9)
    totals = ClusterTotals(2 * sums - counts, counts)
    found = cluster_betting_lower(
        totals, Limits(-1.0, 1.0), largest_count=7, confidence=0.9, seed=0
    )
    assert found == pytest.approx(2 * expected - 1)


def test_the_upper_cluster_bound_mirrors_the_lower():
    counts = np.random.default_rng(1).integers(1, 4, 60).astype(float)
    sums = counts * np.random.default_rng(2).random(60)
    how = {"largest_count": 3, "confidence": 0.9, "seed": 0}
    upper = cluster_betting_upper(ClusterTotals(sums, counts), UNIT, **how)
    mirrored = cluster_betting_lower(ClusterTotals(counts - sums, counts), UNIT, **how)
    assert upper == pytest.approx(1.0 - mirrored, abs=1e-7)
    assert sums.sum() / counts.sum() < upper < 1.0


# Laws


@every_interval
@given(totals=cluster_totals(), scale=st.floats(0.1, 20.0), shift=st.floats(-9.0, 9.0))
def test_law_intervals_follow_scale_and_shift(interval, totals, scale, shift):
    plain = interval(totals)
    moved = interval(ClusterTotals(scale * totals.sums + shift * totals.counts, totals.counts))
    reach = 1e-4 * scale * (plain.high - plain.low) if np.isfinite(plain.high - plain.low) else 0
    for name in ("value", "low", "high"):
        expected = scale * getattr(plain, name) + shift
        assert getattr(moved, name) == pytest.approx(expected, abs=reach + 1e-9)
    assert moved.error == pytest.approx(scale * plain.error)


@every_interval
@given(totals=cluster_totals())
def test_law_negated_terms_mirror_the_interval(interval, totals):
    plain, negated = interval(totals), interval(ClusterTotals(-totals.sums, totals.counts))
    assert (negated.low, negated.high) == pytest.approx((-plain.high, -plain.low))


@every_interval
@given(totals=cluster_totals(), confidence=st.floats(0.5, 0.98), more=st.floats(0.0, 0.9))
def test_law_more_confidence_gives_a_wider_interval(interval, totals, confidence, more):
    narrow = interval(totals, confidence=confidence)
    wide = interval(totals, confidence=confidence + more * (0.999 - confidence))
    gap = 1e-5 * (narrow.high - narrow.low) if np.isfinite(narrow.high - narrow.low) else 0
    assert wide.low <= narrow.low + gap
    assert wide.high >= narrow.high - gap
    assert narrow.low <= narrow.value <= narrow.high


@every_interval
@given(totals=cluster_totals())
def test_law_clusters_that_do_not_occur_change_nothing(interval, totals):
    padded = ClusterTotals(np.append(totals.sums, 0.0), np.append(totals.counts, 0.0))
    assert interval(padded) == interval(totals)
    assert diagnose_clusters(padded) == diagnose_clusters(totals)


@given(seed=st.integers(0, 10**6), cut=st.integers(1, 29))
def test_law_parts_of_a_log_add_up(seed, cut):
    rng = np.random.default_rng(seed)
    terms, clusters = rng.normal(size=30), rng.integers(0, 5, 30)
    whole = ClusterTotals.of_terms(terms, clusters, 5)
    first = ClusterTotals.of_terms(terms[:cut], clusters[:cut], 5)
    both = first + ClusterTotals.of_terms(terms[cut:], clusters[cut:], 5)
    assert both.sums == pytest.approx(whole.sums)
    assert both.counts.tolist() == whole.counts.tolist()


@given(totals=cluster_totals(), seed=st.integers(0, 10**6))
def test_law_the_order_of_clusters_does_not_matter_for_t(totals, seed):
    order = np.random.default_rng(seed).permutation(len(totals.sums))
    moved, plain = t_at(ClusterTotals(totals.sums[order], totals.counts[order])), t_at(totals)
    assert (moved.low, moved.high) == pytest.approx((plain.low, plain.high))


# Edges


@every_interval
def test_one_cluster_gives_no_interval(interval):
    found = interval(ClusterTotals(np.array([6.0, 0.0]), np.array([3.0, 0.0])))
    assert found.value == 2.0
    assert np.isnan(found.error)
    assert (found.low, found.high) == (-np.inf, np.inf)
    plain = found.plain()
    assert (plain["standard_error"], plain["low"], plain["high"]) == (None, None, None)


def test_two_clusters_give_no_wild_interval():
    found = wild_at(ClusterTotals(np.array([0.0, 1.0]), np.ones(2)))
    assert (found.low, found.high) == (-np.inf, np.inf)


@every_interval
def test_equal_clusters_give_a_point(interval):
    found = interval(ClusterTotals(np.full(5, 2.0), np.full(5, 4.0)))
    assert (found.low, found.value, found.high, found.error) == (0.5, 0.5, 0.5, 0.0)


@pytest.mark.parametrize("interval", [t_at, wild_at, cluster_error, diagnose_clusters])
def test_no_clusters_are_refused(interval):
    with pytest.raises(DataError, match="there are no terms"):
        interval(ClusterTotals(np.zeros(3), np.zeros(3)))


@pytest.mark.parametrize(
    ("sums", "counts", "message"),
    [
        (np.zeros(2), np.zeros(3), "one number for each cluster"),
        (np.array([np.nan]), np.ones(1), "not a finite number"),
        (np.ones(1), -np.ones(1), "negative count"),
    ],
)
def test_wrong_totals_are_refused(sums, counts, message):
    with pytest.raises(DataError, match=message):
        ClusterTotals(sums, counts)


def test_other_wrong_input_is_refused():
    with pytest.raises(DataError, match="there are no terms"):
        ClusterTotals.of_terms(np.array([]), np.array([], dtype=np.int64), 3)
    with pytest.raises(DataError, match="2 terms but 1 cluster numbers"):
        ClusterTotals.of_terms(np.ones(2), np.array([0]), 3)
    for wrong in (-1, 3):
        with pytest.raises(DataError, match="between 0 and 2"):
            ClusterTotals.of_terms(np.ones(1), np.array([wrong]), 3)
    with pytest.raises(DataError, match="weight is negative"):
        diagnose_weights(np.array([1.0, -1.0]))
    with pytest.raises(DataError, match="5 interactions, more than the largest count 4"):
        cluster_betting_lower(
            ClusterTotals(np.ones(2), np.array([5.0, 1.0])),
            UNIT,
            largest_count=4,
            confidence=0.9,
            seed=0,
        )
    for interval in (t_at, wild_at):
        with pytest.raises(OptionError, match="confidence is 95"):
            interval(ClusterTotals(np.arange(3.0), np.ones(3)), confidence=95)


# Coverage, with seeds


def misses(interval, draw, samples):
    """How often the interval lies above and below the true mean 0, in this many logs."""
    rng, found = np.random.default_rng(0), np.zeros(2)
    for _ in range(samples):
        ends = interval(draw(rng))
        found += (ends.low > 0, ends.high < 0)
    return found


def most_misses(samples, level=0.05):
    return stats.binom.ppf(0.999, samples, level)


@pytest.mark.parametrize("n", [5, 10, 19])
def test_the_wild_interval_covers_few_uneven_clusters(n):
    def draw(rng):
        counts = np.exp(1.5 * rng.normal(size=n))
        return ClusterTotals(counts * rng.normal(size=n), counts)

    assert misses(wild_at, draw, 300).sum() <= most_misses(300)


def test_the_wild_interval_covers_if_one_query_has_most_of_the_traffic():
    """The linearised error of cltr 0.1.0 covers in less than one log of ten there."""
    counts = np.append(np.ones(49), 441.0)  # 90 %

    def draw(rng):
        return ClusterTotals(counts * rng.normal(size=50), counts)

    def linearised(totals):
        errors = totals.sums - totals.value * totals.counts
        radius = stats.t.ppf(0.975, 49) * np.sqrt(50 / 49 * errors @ errors) / counts.sum()
        return type(t_at(totals))(
            totals.value, 0, totals.value - radius, totals.value + radius, 0.95, "linear", NEW
        )

    assert diagnose_clusters(draw(np.random.default_rng(0))).dominated
    assert misses(wild_at, draw, 300).sum() <= most_misses(300)
    assert misses(linearised, draw, 300).sum() > 0.9 * 300


def test_t_covers_many_equal_clusters():
    def draw(rng):
        return ClusterTotals(3 * rng.normal(size=60), np.full(60, 3.0))

    found = misses(t_at, draw, 1000).sum()
    assert stats.binom.ppf(0.001, 1000, 0.05) <= found <= most_misses(1000)


def test_cluster_betting_covers_what_t_and_wild_miss():
    """0.5 % of 150 clusters lose everything: only betting holds."""

    def draw(rng):
        lost = rng.random(150) < 0.005
        values = np.where(lost, 0.0, rng.uniform(0.50, 0.52, 150)) - 0.995 * 0.51
        counts = rng.integers(1, 3, 150).astype(float)
        return ClusterTotals(values * counts, counts)

    def betting(totals):
        moved = ClusterTotals(totals.sums + 0.995 * 0.51 * totals.counts, totals.counts)
        how = {"largest_count": 2, "confidence": 0.975, "seed": 0}
        low, high = (
            bound(moved, UNIT, **how) - 0.995 * 0.51
            for bound in (cluster_betting_lower, cluster_betting_upper)
        )
        return type(t_at(totals))(totals.value, 0, low, high, 0.95, "betting", NEW)

    assert misses(betting, draw, 300).sum() <= most_misses(300)
    assert misses(t_at, draw, 300)[0] > 0.4 * 300
    assert misses(wild_at, draw, 100)[0] > 0.35 * 100


def test_betting_on_sessions_holds_where_betting_on_their_interactions_does_not():
    """100 sessions of 10 interactions with one outcome each."""
    rng, together, apart = np.random.default_rng(0), 0, 0
    sessions = np.repeat(np.arange(100), 10)
    for seed in range(300):
        terms = np.repeat((rng.random(100) < 0.5).astype(float), 10)
        totals = ClusterTotals.of_terms(terms, sessions)
        how = {"confidence": 0.95, "seed": seed}
        together += cluster_betting_lower(totals, UNIT, largest_count=10, **how) > 0.5
        apart += betting_lower(terms, UNIT, **how) > 0.5
    assert together <= most_misses(300)
    assert apart > 0.15 * 300
