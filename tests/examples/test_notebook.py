"""Guards the notebook: every cell runs, in an empty folder, and shows what is stored."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ESTIMATOR_LINES = 20


@pytest.fixture(scope="module")
def script():
    for name in ("nbformat", "nbclient", "ipykernel"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    spec = importlib.util.spec_from_file_location("run_notebook", ROOT / "docs" / "run_notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def stored(script):
    import nbformat

    return nbformat.read(script.NOTEBOOK, as_version=4)


def test_every_cell_runs_and_shows_what_is_stored(script, stored, tmp_path_factory):
    executed = script.executed(tmp_path_factory.mktemp("notebook"))
    assert script.shown(executed) == script.shown(stored), "run: python docs/run_notebook.py"


def test_a_reader_sees_a_table_a_picture_and_verdicts(script, stored):
    text = "\n".join(script.shown(stored))
    assert "clicks per impression" in text
    assert "<picture>" in text
    assert "deploy: " in text and "hold: " in text


def test_outputs_name_no_folder_of_a_machine(script):
    assert not re.search(r"/(?:home|root|tmp|work|Users|var)/", script.NOTEBOOK.read_text())


def test_the_estimator_has_at_most_twenty_lines(stored):
    (cell,) = [cell for cell in stored.cells if "class Damped" in cell.source]
    source = cell.source.partition("damped = ")[0]
    assert len([line for line in source.splitlines() if line.strip()]) <= ESTIMATOR_LINES
