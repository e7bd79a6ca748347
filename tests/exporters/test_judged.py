"""Guards on real features: scores from ``rank``, from exports and from training agree."""

import numpy as np
import pytest
from click.testing import CliRunner

import cltr
from cltr.cli import cli
from cltr.errors import UnsupportedError
from cltr.experiment.export_run import export
from cltr.experiment.run_model import RunModel
from cltr.training.score_documents import score
from tests.judged import REAL, needs_real

SETS = {
    "mslr-sample": [REAL / "mslr-sample"],
    "mq2008": [
        *("--train", REAL / "mq2008/S1.txt", "--train", REAL / "mq2008/S2.txt"),
        *("--valid", REAL / "mq2008/S3.txt", "--test", REAL / "mq2008/S4.txt"),
    ],
}
UNABLE = {
    "none": {"solr", "opensearch"},  # the model takes logarithms of features with long tails
    "z-score": set(),
    "log1p-z-score": {"solr", "opensearch"},
    "query-min-max": {"solr", "opensearch", "onnx"},
}


def imported(name, normalize):
    words = ["data", "import", *SETS[name], "--normalize", normalize, "--out", f"{normalize}.h5"]
    done = CliRunner().invoke(cli, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return f"{normalize}.h5"


@needs_real
@pytest.mark.parametrize(
    ("name", "normalize", "scorer"),
    [
        ("mslr-sample", "z-score", "mlp"),
        pytest.param("mslr-sample", "none", "linear", marks=pytest.mark.slow),
        pytest.param("mslr-sample", "log1p-z-score", "mlp", marks=pytest.mark.slow),
        pytest.param("mslr-sample", "query-min-max", "linear", marks=pytest.mark.slow),
        pytest.param("mq2008", "z-score", "linear", marks=pytest.mark.slow),
        pytest.param("mq2008", "query-min-max", "mlp", marks=pytest.mark.slow),
    ],
)
def test_scores_agree_on_real_features(name, normalize, scorer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, raw = imported(name, normalize), imported(name, "none")
    run = cltr.train(
        data=data,
        scorer=scorer,
        interactions=2000,
        skyline=False,
        options={"training.epochs": 1},
        out="run",
    )
    dataset = cltr.open_dataset(data)
    own = score(RunModel.open(run.path).model, dataset)
    found = run.rank(raw).table()
    ranked = dict(zip(*(found[key].to_pylist() for key in ("document", "score")), strict=True))
    if len(ranked) == len(own):  # document ids of all queries differ
        expected = dict(zip(dataset.document_ids.tolist(), own.tolist(), strict=True))
        gaps = [abs(ranked[one] - expected[one]) for one in expected]
        assert max(gaps) < 1e-5 * np.ptp(own)
    np.testing.assert_allclose(np.sort(found["score"]), np.sort(own), atol=1e-5 * np.ptp(own))
    for to in ("json", "onnx", "solr", "opensearch"):
        if to in UNABLE[normalize] or (to == "opensearch" and scorer == "mlp"):
            with pytest.raises(UnsupportedError):
                export(run.path, to=to)
        else:
            assert export(run.path, to=to)["largest_difference"] < 1e-5
