"""Guards the covariance of fitted click models: right by simulation, and on the fit's own scale."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.clicks.fit_error import fit_covariance
from cltr.clicks.intervals import fitted_intervals
from cltr.clicks.models import PositionBased, TrustBias
from cltr.types import Affine, ClickStatistics
from tests.coverage_tables.fit_cases import clicks

TWO = Affine(np.array([1.0, 0.5]), np.zeros(2))


def one_document(n: int) -> ClickStatistics:
    """A document with relevance 1/2, shown n times at each of two ranks."""
    impressions = np.array([[n, n]])
    return ClickStatistics(
        impressions, np.array([[n // 2, n // 4]]), impressions[0, :1] * 2, np.array([0, 1])
    )


def test_two_ranks_and_one_document_by_hand():
    """The variance of the ratio of two click rates: r²((1-p₁)/np₁ + (1-p₂)/np₂)."""
    found = fit_covariance(one_document(4000), TWO, np.array([0.5]))
    expected = 0.25 * (0.5 / (4000 * 0.5) + 0.75 / (4000 * 0.25))
    assert found[0, 1, 0, 1] == pytest.approx(expected)
    assert np.count_nonzero(found) == 1


def test_ten_times_the_clicks_have_a_tenth_of_the_variance():
    few, many = (fit_covariance(one_document(n), TWO, np.array([0.5])) for n in (400, 4000))
    np.testing.assert_allclose(few, 10 * many)


def test_ranks_that_share_no_document_are_left_open():
    impressions = np.array([[100, 0], [0, 100]])
    statistics = ClickStatistics(impressions, impressions // 4, np.array([200]), np.array([0, 2]))
    assert np.isnan(fit_covariance(statistics, TWO, np.full(2, 0.5))).all()


def test_clicks_that_depend_on_each_other_have_a_larger_error():
    """Each query once as it is, and as 20 equal copies of one of 20 times fewer clicks."""
    statistics = clicks(PositionBased(), queries=40, per_query=100, seed=0)
    model = PositionBased()
    relevance = model.fit(statistics).documents["relevance"]
    affine = model.affine(5)
    alone = fit_covariance(statistics, affine, relevance)
    copied = replace(
        statistics,
        impressions=20 * statistics.impressions,
        clicks=20 * statistics.clicks,
        displays=20 * statistics.displays,
    )
    naive = np.diagonal(alone[0, 1:, 0, 1:]) / 20
    assert (np.diagonal(fit_covariance(copied, affine, relevance)[0, 1:, 0, 1:]) > 5 * naive).all()


def test_a_change_of_scale_has_no_error():
    """Trust bias leaves the scale open: the covariance has no part along such a change."""
    model = TrustBias()
    covariance = model.fit(clicks(TrustBias(), queries=40, per_query=100, seed=0)).covariance
    examination = model.affine(5).examination
    for kind in range(2):
        along = np.zeros((2, 5))
        along[kind] = examination
        assert np.abs(np.einsum("aibj,bj->ai", covariance, along)).max() < 1e-12


@pytest.mark.parametrize("users", [PositionBased(), TrustBias()])
def test_errors_are_those_of_many_fits(users):
    """Sixty logs tell a standard deviation to a tenth; the formula is slightly too large."""
    estimates, errors = [], []
    for seed in range(60):
        model = type(users)()
        covariance = model.fit(clicks(users, queries=40, per_query=100, seed=seed)).covariance
        found = fitted_intervals(model.affine(5), covariance)["slope"]
        estimates.append(found.estimate[1:])
        errors.append((found.high - found.low)[1:] / (2 * 1.96))
    ratio = np.mean(errors, axis=0) / np.std(estimates, axis=0)
    assert (ratio > 0.75).all()
    assert (ratio < 1.6).all()
