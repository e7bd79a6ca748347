"""Small judged sets for tests, and where the real ones are."""

from pathlib import Path

import numpy as np
import pytest

REAL = Path(__file__).parents[2] / "shared" / "data"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the judged sets are not there")


def text(queries, *, documents=3, features=4, grade=2, seed=0):
    """SVMlight lines of some queries, each feature with two decimals."""
    rng = np.random.default_rng(seed)
    return "".join(
        f"{rng.integers(grade + 1)} qid:{query} "
        + " ".join(f"{f}:{rng.integers(100) / 100 + f}" for f in range(1, features + 1))
        + f" # docid = {query}-{place}\n"
        for query in queries
        for place in range(documents)
    )


def write_folder(path):
    """A folder of 20 training, 5 validation and 10 test queries of 3 documents, 4 features."""
    path.mkdir()
    (path / "train.txt").write_text(text(range(20)))
    (path / "vali.txt").write_text(text(range(20, 25), seed=1))
    (path / "test.txt").write_text(text(range(25, 35), seed=2))
    return path
