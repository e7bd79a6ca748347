"""Guards the notebook: every cell runs, in an empty folder, and shows what its text says."""

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "first_steps.ipynb"
ESTIMATOR_LINES = 20


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    book = nbformat.read(NOTEBOOK, as_version=4)
    folder = {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    return nbclient.NotebookClient(book, timeout=900, resources=folder).execute()


def test_every_cell_runs(executed):
    outputs = [one for cell in executed.cells for one in cell.get("outputs", ())]
    assert any("image/png" in one.get("data", {}) for one in outputs)
    text = "".join(one.get("text", "") for one in outputs)
    assert "NDCG@5: damped" in text


def test_the_estimator_has_at_most_twenty_lines(executed):
    (cell,) = [cell for cell in executed.cells if "class Damped" in cell.source]
    source = cell.source.partition("damped = ")[0]
    assert len([line for line in source.splitlines() if line.strip()]) <= ESTIMATOR_LINES
