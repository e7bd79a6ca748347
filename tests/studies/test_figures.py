"""Guards the figures of the paper: statements follow the cells, files and curves are right."""

import json
from pathlib import Path

import numpy as np
import pytest

from cltr.studies.figures import FIGURES, PRESETS, figure_study, published_curves
from cltr.studies.plots import draw_study
from cltr.studies.statements import judge_statements
from cltr.studies.study import Cell
from cltr.studies.summary import Summary
from tests import small

ROOT = Path(__file__).parents[2]


def verdicts(figure, value) -> list[bool]:
    found = figure_study(figure, preset="paper", quick=True)
    return [s.holds for s in judge_statements(figure, Summary(found, small.cells(found, value)))]


def test_statements_about_figure_2_follow_the_cells():
    def as_published(method, n):
        return {"DR": 0.3 if n < 1e5 else 0.7, "IPS": 0.6}.get(method, 0.7)

    assert verdicts("figure-2", as_published) == [True, True, True]
    assert verdicts("figure-2", lambda m, n: 0.4) == [False, True, False]
    assert verdicts("figure-2", lambda m, n: 0.6) == [True, False, False]

    def late_dip(method, n):
        return 0.3 if method == "DR" and n == 1e6 else 0.6

    assert verdicts("figure-2", late_dip)[1] is False


def test_statements_about_figure_4_follow_the_cells():
    def as_published(method, n):
        if method.startswith("PRPO"):
            return 0.45
        return 0.1 if method == "DR" else 0.5 - 0.03 * np.log10(n)

    assert verdicts("figure-4", as_published) == [True, True]
    assert verdicts("figure-4", lambda m, n: 0.5 - 0.03 * np.log10(n)) == [False, True]
    assert verdicts("figure-4", lambda m, n: 0.4) == [False, False]


def test_no_statement_without_its_cells():
    found = figure_study("figure-2", preset="paper", quick=True)
    rows = [row for row in small.cells(found, lambda m, n: 0.6) if row["method"] != "DR"]
    assert [s.claim[:3] for s in judge_statements("figure-2", Summary(found, rows))] == ["(a)"]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("figure", FIGURES)
def test_every_checked_in_file_is_a_study(figure, preset):
    whole, quick = (figure_study(figure, preset=preset, quick=quick) for quick in (False, True))
    assert len(quick) < len(whole)
    assert list(quick.methods) == list(whole.methods)
    shown = {name for names in whole.shown.values() for name in names}
    assert shown == set(whole.methods)


def test_presets_differ_in_what_they_say():
    paper, ours = (
        figure_study("figure-2", preset=preset).config(Cell("DR", 1, 100, "trust-bias"))
        for preset in PRESETS
    )
    assert (paper.init, paper.exposure, paper.ranker.name) == ("random", "counted", "reinforce")
    assert (ours.init, ours.exposure, ours.ranker.name) == ("production", "exact", "exact")
    assert (paper.training.keep, ours.training.keep) == ("last", "best")
    for config in (paper, ours):
        assert (config.top_k, config.metric) == (5, "clicks")
        assert config.propensity_clip(10_000) == 0.1


def test_a_preset_can_be_changed():
    found = figure_study("figure-4", preset="paper", options={"production": {"fraction": 0.2}})
    production = found.config(Cell("DR", 1, 100, "adversarial")).production
    assert (production.fraction, production.seed) == (0.2, 1)


def test_published_curves_are_in_the_picture():
    found = figure_study("figure-2", preset="paper", quick=True)
    summary = Summary(found, small.cells(found, lambda m, n: 0.6))
    curves = published_curves("figure-2", "mslr30k")
    (axes,) = draw_study(summary, published=curves).axes
    low, high = axes.get_ylim()
    assert low < min(curves["DR"][1]) < max(curves["DR"][1]) < high
    drawn = [list(line.get_ydata()) for line in axes.lines]
    assert all(curves[name][1] in drawn for name in found.methods)
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "as published, wide" in named
    (axes,) = draw_study(summary).axes
    assert "as published, wide" not in [text.get_text() for text in axes.get_legend().get_texts()]


def test_the_grid_of_the_paper_is_that_of_its_figures():
    n, _ = published_curves("figure-2", "yahoo")["IPS"]
    assert figure_study("figure-2", preset="paper").interactions == n


def test_published_curves_are_those_of_the_figures():
    path = ROOT.parent / "shared" / "paper" / "figures.json"
    if not path.exists():
        pytest.skip("the figures' numbers are not beside the checkout")
    known = json.loads(path.read_text())["data"]
    pairs = [
        ("figure-2", "Fig2", "DR", "DR"),
        ("figure-3", "Fig3bot", "Safe DR δ=0.1", "SafeDR 0.1"),
    ]
    pairs += [("figure-4", "Fig4top(adv)", "PRPO 0.65", "PRPO 0.65")]
    for figure, theirs, name, their_name in pairs:
        for data in ("Yahoo", "MSLR", "Istella"):
            curve = published_curves(figure, data)[name][1]
            assert curve == known[f"{theirs}/{data}"][their_name]["mean"]
    for figure in ("figure-2", "figure-3", "figure-4"):
        methods = figure_study(figure, preset="paper").methods
        assert set(methods) <= set(published_curves(figure, "mslr30k"))
