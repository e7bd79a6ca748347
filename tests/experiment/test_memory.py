"""Guards how much memory a run needs for each document beside its features."""

import tracemalloc

import numpy as np

from cltr.data.dataset_file import save_dataset
from cltr.experiment.train_run import train
from cltr.types import Dataset
from tests import small

DOCUMENTS = 120
MOST_BYTES = 170
"""Of a document, at five ranks: about four million of them and the libraries take a gigabyte."""


def _data(queries: int) -> Dataset:
    rng = np.random.default_rng(0)
    n = queries * DOCUMENTS
    features = rng.standard_normal((n, 2), dtype=np.float32)
    ends = 0, int(0.6 * queries), int(0.8 * queries), queries
    return Dataset(
        features=features,
        labels=np.clip(np.floor(features[:, 0] + 1), 0, 4).astype(np.float64),
        offsets=np.arange(queries + 1) * DOCUMENTS,
        query_ids=np.arange(queries).astype(str),
        document_ids=np.tile(np.arange(DOCUMENTS).astype(str), queries),
        splits={name: ends[i : i + 2] for i, name in enumerate(("train", "valid", "test"))},
    )


def test_a_run_grows_by_few_bytes_a_document(tmp_path):
    def peak(queries: int) -> int:
        path = tmp_path / f"{queries}.h5"
        save_dataset(_data(queries), path)
        config = small.config(
            data=str(path),
            interactions=30 * queries,
            reward={"name": "dr", "epochs": 1},
            training={"epochs": 1},
            production={"epochs": 1},
        )
        tracemalloc.start()
        train(config, out=tmp_path / f"run-{queries}")
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    few, many = 1000, 2000  # below, blocks of fixed size are not full
    peak(20)  # imports what a run needs
    growth = (peak(many) - peak(few)) / (DOCUMENTS * (many - few))
    assert growth < MOST_BYTES
