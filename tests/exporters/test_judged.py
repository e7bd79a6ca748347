"""Guards on real features: scores from ``rank``, from exports and from training agree."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from click.testing import CliRunner

import cltr
from cltr.cli import cli
from cltr.documents import Documents
from cltr.errors import UnsupportedError
from cltr.experiment.export_run import export
from cltr.experiment.run_model import RunModel
from cltr.logs.log_file import open_log
from tests.judged import REAL, needs_real

SETS = {
    "mslr-sample": [REAL / "mslr-sample"],
    "mq2008": [
        *("--train", REAL / "mq2008/S1.txt", "--train", REAL / "mq2008/S2.txt"),
        *("--valid", REAL / "mq2008/S3.txt", "--test", REAL / "mq2008/S4.txt"),
    ],
    "lightgbm-lambdarank": [REAL / "lightgbm-lambdarank"],
}
FORMATS = ("json", "onnx", "solr", "opensearch")
UNABLE = {
    "none": {"opensearch": "clip|logarithm", "solr": "logarithm"},
    "z-score": {},
    "log1p-z-score": {"solr": "logarithm", "opensearch": "logarithm"},
    "query-min-max": dict.fromkeys(("solr", "opensearch", "onnx"), "one document at a time"),
}
"""What formats refuse, and why. Raw features with long tails get a logarithm in the model."""
NO_TAILS = {("lightgbm-lambdarank", "none", "solr")}
FAST = {
    ("mslr-sample", "none", "mlp", True),
    ("mq2008", "z-score", "linear", True),
    ("lightgbm-lambdarank", "none", "mlp", False),
}
CELLS = [
    pytest.param(*cell, marks=() if cell in FAST else pytest.mark.slow)
    for cell in product(SETS, UNABLE, ("linear", "mlp"), (False, True))
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Data sets and logs, made once each when they are first asked for."""
    folder = tmp_path_factory.mktemp("judged")

    def run(path, *words):
        if not path.exists():
            done = CliRunner().invoke(cli, [str(word) for word in (*words, "--out", path)])
            assert done.exit_code == 0, done.output
        return path

    def data(name, normalize):
        path = folder / f"{name}-{normalize}.h5"
        return run(path, "data", "import", *SETS[name], "--normalize", normalize)

    def log(name, normalize):
        path = folder / f"{name}-{normalize}-log.h5"
        return run(path, "simulate", "--data", data(name, normalize), "-n", 10_000)

    return data, log


def ranked(run, dataset, production):
    """Scores by ``rank`` of raw features, in the order of the data set."""
    keys = {
        "query": np.repeat(dataset.query_ids.astype(str), dataset.lists.lengths),
        "document": dataset.document_ids.astype(str),
    }
    known = None if production is None else {**keys, "score": production}
    table = run.rank(dataset, production=known).table()
    rows = zip(*(table[name].to_pylist() for name in ("query", "document", "score")), strict=True)
    scores = {(query, document): value for query, document, value in rows}
    pairs = zip(*(column.tolist() for column in keys.values()), strict=True)
    return np.array([scores[pair] for pair in pairs])


@needs_real
@pytest.mark.parametrize(("name", "normalize", "scorer", "adds"), CELLS)
def test_scores_agree_on_real_features(name, normalize, scorer, adds, files, tmp_path):
    data, log = files
    path = data(name, normalize)
    run = cltr.train(
        data=path,
        log=log(name, normalize) if adds else None,
        interactions=None if adds else 10_000,
        estimator="plain",
        scorer=scorer,
        init="production" if adds else "random",
        skyline=False,
        click_model="trust-bias",
        on_doubt="ignore",
        options={"training.epochs": 2, "training.keep": "last"},
        out=tmp_path / "run",
    )
    dataset, model = cltr.open_dataset(path), RunModel.open(run.path)
    assert model.inputs.production == adds
    production = open_log(log(name, normalize), dataset).scores if adds else None
    own = model.model.scores(replace(Documents.of(dataset), production=production))
    learned = own - (0.0 if production is None else production)
    assert np.ptp(learned) > 1e-3 * np.ptp(own)
    found = ranked(run, cltr.open_dataset(data(name, "none")), production)
    np.testing.assert_allclose(found, own, atol=1e-5 * np.ptp(own))
    for to in FORMATS:
        reason = UNABLE[normalize].get(to)
        if (name, normalize, to) in NO_TAILS:
            reason = None
        if to == "opensearch" and scorer == "mlp":
            reason = "no neural networks|one document at a time|logarithm"
        if reason:
            with pytest.raises(UnsupportedError, match=reason):
                export(run.path, to=to)
        else:
            assert export(run.path, to=to)["largest_difference"] < 1e-5
