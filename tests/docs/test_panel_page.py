"""Guards docs/panel.md and panel-tables.md: their tables are those of their results."""

import importlib.util
from itertools import product
from pathlib import Path

import pytest

from cltr.studies.figures import panel_study
from cltr.studies.summary import read_results

DOCS = Path(__file__).parents[2] / "docs"
PUBLISHED = sorted(path.stem for path in (DOCS / "panel").glob("*.csv"))


@pytest.fixture(scope="module")
def fill_panel():
    spec = importlib.util.spec_from_file_location("fill_panel", DOCS / "fill_panel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_those_of_the_results(fill_panel):
    by_method, by_users, readme = (path.read_text(encoding="utf-8") for path in fill_panel.PAGES)
    assert "<!-- panel mq2008 short -->\n\n| method |" in readme
    for page in (by_method, by_users, readme):
        assert fill_panel.filled(page) == page, "run: python docs/fill_panel.py"
    for name in PUBLISHED:
        assert f"<!-- panel {name} -->\n\n| method | runs |" in by_method
        assert f"<!-- panel {name} users -->\n\n| method | N |" in by_users
        assert (DOCS / "panel" / f"{name}.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_seed_is_whole_and_the_grid_is_that_of_the_panel(fill_panel, name):
    study, _ = fill_panel.published(name)
    fixed = panel_study()
    assert (study.people, study.interactions) == (fixed.people, fixed.interactions)
    assert study.methods == fixed.methods
    cells = read_results(DOCS / "panel" / f"{name}.csv")
    assert {cell["status"] for cell in cells} == {"done"}
    places = [tuple(c[k] for k in ("method", "users", "interactions", "seed")) for c in cells]
    grid = product(study.methods, study.people, study.interactions, study.seeds)
    assert sorted(places) == sorted(grid)


@pytest.mark.parametrize("name", PUBLISHED)
def test_no_run_loses_more_than_its_certificate(name):
    for cell in read_results(DOCS / "panel" / f"{name}.csv"):
        lost = cell["production_ndcg@5"] - cell["ndcg@5"]
        assert lost <= cell["worst_ndcg_loss"] + 1e-9, cell
        if cell["method"] == "budget 2 %":
            assert cell["train_worst_ndcg_loss"] <= 0.02 + 1e-9
            assert cell["worst_ndcg_loss_of_a_query"] <= 0.02 + 1e-9


def test_a_finished_panel_is_published(fill_panel, tmp_path, monkeypatch):
    monkeypatch.setattr(fill_panel, "FOLDER", tmp_path)
    names = {"study.toml": "new.toml", "results.csv": "new.csv", "panel.png": "new.png"}
    made = tmp_path / "panel-new"
    made.mkdir()
    for name in names:
        (made / name).write_text(name)
    fill_panel.publish("new", made)
    assert {path.name: path.read_text() for path in tmp_path.glob("new.*")} == {
        published: name for name, published in names.items()
    }
