"""Guards the pictures: each is what its script draws from the files of results."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from cltr.studies.clipping_figure import clipped_ratios, draw_clipping
from cltr.studies.panel_plot import draw_panel
from cltr.studies.plots import draw_study
from tests import exploring_curve
from tests.safety_tables import picture
from tests.safety_tables.page import TABLE
from tests.safety_tables.record import pool, read_folds

DOCS = Path(__file__).parents[2] / "docs"


def script(path: str):
    """A script of the repository as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, DOCS.parent / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pictures = script("docs/draw_pictures.py")


tables, panels = script("docs/fill_tables.py"), script("docs/fill_panel.py")


def check_same(drawn: Path, stored: Path) -> None:
    """The same size and the same dots; letters may differ by their smoothing."""
    one, other = imread(drawn), imread(stored)
    assert one.shape == other.shape, stored.name
    assert np.abs(one - other).mean() < 1e-3, stored.name


@pytest.mark.parametrize("name", pictures.DRAWINGS)
def test_drawings(name):
    stored = (DOCS / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
    assert stored == pictures.DRAWINGS[name](), "run: python docs/draw_pictures.py"


def test_every_drawing_has_a_script():
    assert {path.stem for path in DOCS.glob("**/*.svg")} == set(pictures.DRAWINGS)


def test_canaries(tmp_path):
    pictures.ramp(tmp_path / "ramp.png")
    check_same(tmp_path / "ramp.png", DOCS / "pictures" / "ramp.png")


def test_what_the_default_command_gained(tmp_path):
    runs = {cell: pool(folds) for cell, folds in read_folds(TABLE).items()}
    picture.draw(runs, tmp_path / "defaults.png")
    check_same(tmp_path / "defaults.png", picture.PICTURE)


def test_the_difference_that_the_method_makes(tmp_path):
    panels.draw_difference(tmp_path / "difference.png")
    check_same(tmp_path / "difference.png", panels.PICTURE)


def test_gains_against_the_worst_case(tmp_path):
    tradeoff = script("examples/safety_tradeoff.py")
    tradeoff.draw(tradeoff.read(DOCS / "safety.csv"), tmp_path / "safety.png")
    check_same(tmp_path / "safety.png", DOCS / "safety.png")


def test_exploring(tmp_path):
    curve = exploring_curve.CURVE
    exploring_curve.draw(exploring_curve.read(curve), tmp_path / "curve.png")
    check_same(tmp_path / "curve.png", curve.with_suffix(".png"))


@pytest.mark.parametrize("stored", sorted((DOCS / "panel").glob("*.png")), ids=lambda p: p.stem)
def test_panels(tmp_path, stored):
    draw_panel(*panels.published(stored.stem)).savefig(tmp_path / "panel.png", dpi=140)
    check_same(tmp_path / "panel.png", stored)


@pytest.mark.parametrize(
    "stored", sorted((DOCS / "reproduction").glob("*.png")), ids=lambda p: p.stem
)
def test_reproduced_figures(tmp_path, stored):
    if stored.stem == "figure-1":
        figure = draw_clipping(clipped_ratios())
    else:
        figure = draw_study(tables.published(stored.stem))
    figure.savefig(tmp_path / "figure.png", dpi=140)
    check_same(tmp_path / "figure.png", stored)
