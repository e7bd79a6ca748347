"""Conformance of exporters."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from cltr.documents import Documents, ModelSetup
from cltr.errors import UnsupportedError
from cltr.extensions import Exporter, TrainedRanker
from cltr.plugins import registry
from cltr.testing.demands import check_component, demand
from cltr.testing.tiny_data import TOP_K, tiny_dataset


def check_exporter(exporter: Exporter, *, scorers: Sequence[str] = ("linear", "mlp")) -> None:
    """What is written ranks documents as the model does, and is all that reading needs.

    Args:
        exporter: the exporter.
        scorers: those of the core that it can export; it must refuse ``table``, which has one
            number per document, in one line.
    """
    check_component(exporter)
    demand(exporter.suffix.startswith("."), f"suffix {exporter.suffix!r} does not begin with .")
    data = tiny_dataset()
    setup, documents = ModelSetup(data.n_features, data.n_documents), Documents.of(data)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"ranker{exporter.suffix}"
        for name in scorers:
            model = registry().create("scorer", name).build(setup, seed=3)
            ranker = TrainedRanker(name, model.state(), data.n_features, "plackett-luce", TOP_K)
            exporter.write(ranker, path)
            demand(path.is_file(), "write does not write the file that it was given")
            own, found = model.scores(documents), type(exporter)().scores(path, documents)
            demand(found.shape == own.shape, "scores are not one number per document")
            gaps = np.diff(own)[np.diff(data.lists.owners) == 0]
            found_gaps = np.diff(found)[np.diff(data.lists.owners) == 0]
            demand(
                np.allclose(found_gaps, gaps, atol=1e-4 * np.ptp(own)),
                f"'{name}': the written file scores documents otherwise than the model",
            )
            path.unlink()
        demand(_refuses_a_table(exporter, setup, path), "a ranker of another kind is not refused")


def _refuses_a_table(exporter: Exporter, setup: ModelSetup, path: Path) -> bool:
    state = registry().create("scorer", "table").build(setup, seed=3).state()
    try:
        exporter.write(TrainedRanker("table", state, 0, "plackett-luce", TOP_K), path)
    except UnsupportedError as error:
        return "\n" not in str(error)
    return False
