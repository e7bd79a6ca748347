"""Guards docs/panel.md and docs/explore.md: each table is what its file of results gives."""

import importlib.util
from pathlib import Path

import numpy as np

from cltr.policies import Deterministic
from tests import exploring_curve, small

DOCS = Path(__file__).parents[2] / "docs"


def test_every_table_of_the_panel_is_what_its_results_give():
    spec = importlib.util.spec_from_file_location("fill_panel", DOCS / "fill_panel.py")
    fill_panel = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fill_panel)
    page = fill_panel.PAGE.read_text(encoding="utf-8")
    assert page.count("<!-- panel ") >= 2
    assert fill_panel.filled(page) == page, "run: python docs/fill_panel.py"


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
