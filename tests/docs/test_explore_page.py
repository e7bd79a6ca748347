"""Guards docs/explore.md: the learning curve is what its file of results gives."""

import numpy as np

from cltr.policies import Deterministic
from tests import exploring_curve, small


def test_the_learning_curve_is_what_its_results_give():
    page = exploring_curve.PAGE.read_text(encoding="utf-8")
    table = exploring_curve.curve_table(exploring_curve.read(exploring_curve.CURVE))
    assert exploring_curve.filled(page, {"curve": table}) == page
    assert table in page


def test_production_of_the_curve_never_changes():
    """A log that is called deterministic has one ranking a query, and shows its documents only."""
    dataset = small.dataset()
    scores = np.random.default_rng(0).normal(size=dataset.n_documents)
    rankings = exploring_curve.Rankings.sorted_by(scores, dataset.lists)
    clicks = exploring_curve.simulate(dataset, rankings, 500, np.random.default_rng(1))
    chances = Deterministic().rank_distribution(scores, dataset.lists, exploring_curve.TOP_K)
    for part, found in clicks.items():
        shown = found.displays_per_document[:, None] * chances[dataset.documents_of(part)]
        np.testing.assert_array_equal(found.impressions, shown)
        assert (found.clicks <= found.impressions).all()
