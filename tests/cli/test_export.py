"""Guards ``cltr export``: the file scores as the run does, or there is none."""

import json
import re

import numpy as np
import pytest

from cltr.documents import Documents
from cltr.exporters.json_format import JsonExporter
from cltr.plugins import registry
from tests import small
from tests.judged import write_folder
from tests.strangers import Site

ANY_SCORER = small.FLAGS[:3] + small.FLAGS[5:]
WRONG = """
from cltr.extensions import Exporter
from cltr import hookimpl
import numpy as np


class Wrong(Exporter):
    name, suffix = "wrong", ".txt"

    def write(self, ranker, path):
        path.write_text("hello")

    def scores(self, path, documents):
        return {scores}


@hookimpl
def cltr_exporters():
    return [Wrong]
"""


@pytest.mark.parametrize("scorer", ["mlp", "linear"])
def test_a_run_is_exported_and_scores_the_same(cltr, here, scorer):
    words = ["--scorer", scorer, "--reward", "ips", "--out", "run"]
    assert cltr("train", *ANY_SCORER, *words).exit_code == 0
    done = cltr("export", "run", "--to", "json", "--json")
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["out"] == "run/policy.json"
    assert result["documents_compared"] == small.dataset().n_documents
    assert 0 < result["largest_difference"] < 1e-5
    written = json.loads((here / "run/policy.json").read_text())
    assert (written["scorer"], written["policy"]) == (scorer, "plackett-luce")
    assert len(written["layers"]) == (3 if scorer == "mlp" else 1)


def test_the_scores_are_those_of_a_hand_written_forward_pass(tmp_path):
    layers = [
        {"weights": [[1.0, -1.0], [0.5, 0.5]], "bias": [0.0, -1.0]},
        {"weights": [[2.0, 3.0]], "bias": [0.25]},
    ]
    path = tmp_path / "ranker.json"
    path.write_text(json.dumps({"format": "cltr-ranker", "version": 1, "layers": layers}))
    features = np.array([[1.0, 2.0], [3.0, 1.0]], np.float32)
    documents = Documents(features, np.arange(2), np.array([0, 2]))
    # max(0, [-1, 0.5]) and max(0, [2, 1]), then 2 a + 3 b + 0.25
    assert JsonExporter().scores(path, documents).tolist() == [1.75, 7.25]


def test_the_normalisation_goes_with_it(cltr, here):
    write_folder(here / "data")
    words = ["data", "import", "data", "--normalize", "z-score", "--out", "data.h5"]
    assert cltr(*words).exit_code == 0
    flags = ["--data", "data.h5", *small.FLAGS, "--reward", "ips", "--out", "run"]
    assert cltr("train", *flags).exit_code == 0
    assert cltr("export", "run", "--to", "json", "--out", "r.json").exit_code == 0
    written = json.loads((here / "r.json").read_text())
    assert written["normalization"] == "z-score"
    assert len(written["steps"][0]["center"]) == written["n_features"]


def test_what_scores_do_not_carry_over_is_said(cltr, train):
    train("--estimator", "band", "--out", "run")
    text = cltr("export", "run", "--to", "json").stdout
    assert "note: The run was judged with rankings drawn by the policy 'plackett-luce'." in text
    assert "note: The bound of 'band' holds for a mixture with production." in text


@pytest.mark.parametrize(
    ("scores", "line"),
    [
        ("documents.features[:, 0].astype(float)", "gives other scores than the run"),
        ("np.zeros(3)", r"exporter 'wrong' \(acme-cltr 2.0\): scores must be \d+ finite numbers"),
        ("1 / 0", r"exporter 'wrong' \(acme-cltr 2.0\): scores failed: ZeroDivisionError"),
    ],
)
def test_a_file_that_scores_otherwise_is_not_kept(
    cltr, train, here, monkeypatch, fresh_registry, scores, line
):
    train("--out", "run")
    folder = here / "site"
    folder.mkdir()
    Site(folder, monkeypatch).install("acme-cltr", WRONG.format(scores=scores))
    monkeypatch.setenv("CLTR_PLUGINS", "acme-cltr,cltr-ips")
    registry.cache_clear()
    done = cltr("export", "run", "--to", "wrong")
    assert done.exit_code == 1
    assert re.search(line, done.stderr), done.stderr
    assert not (here / "run/policy.txt").exists()


def test_a_ranker_without_layers_is_refused(refused, cltr):
    run = ["train", *ANY_SCORER, "--scorer", "table", "--reward", "ips", "--out", "run"]
    assert cltr(*run).exit_code == 0
    line = refused("export", "run", "--to", "json", code=1)
    assert line == (
        "scorer 'table' cannot be exported to JSON: it has 'weights', which is no layer of a "
        "feed-forward network; train with --scorer mlp or linear, write scores with cltr rank, or "
        "write an exporter (cltr plugins new)"
    )


def test_an_unknown_format(refused, train):
    train("--out", "run")
    line = refused("export", "run", "--to", "jsn", code=2)
    assert line.startswith("no exporter named 'jsn'; installed: json (cltr ")


@pytest.mark.parametrize("normalize", ["none", "z-score", "log1p-z-score", "query-min-max"])
@pytest.mark.parametrize("scorer", ["mlp", "linear"])
def test_every_format_scores_raw_features_or_refuses(cltr, here, normalize, scorer):
    write_folder(here / "data")
    words = ["data", "import", "data", "--normalize", normalize, "--out", "data.h5"]
    assert cltr(*words).exit_code == 0
    flags = ["--data", "data.h5", *ANY_SCORER, "--scorer", scorer, "--reward", "ips"]
    assert cltr("train", *flags, "--out", "run").exit_code == 0
    (here / "data.h5").unlink()  # then the run's own sample is compared
    refused = {
        "solr": normalize not in ("none", "z-score"),
        "opensearch": normalize != "z-score" or scorer == "mlp",  # else the model cuts its inputs
        "onnx": normalize == "query-min-max",
        "json": False,
    }
    for to, unable in refused.items():
        done = cltr("export", "run", "--to", to, "--out", f"x.{to}", "--json")
        assert (done.exit_code != 0) == unable, done.stderr
        assert (here / f"x.{to}").exists() == (here / f"x.{to}.md").exists() == (not unable)
        if not unable:
            assert json.loads(done.stdout)["largest_difference"] < 1e-5
            assert "falls by at most" in (here / f"x.{to}.md").read_text()


def test_options_of_a_format(cltr, train, refused, here):
    train("--out", "run")
    words = ("export", "run", "--to", "solr", "--out", "x.json")
    assert cltr(*words, "-o", "model=r7", "-o", "store=shop").exit_code == 0
    written = json.loads((here / "x.json").read_text())
    assert (written["name"], written["store"]) == ("r7", "shop")
    assert "solr.modl" in refused(*words[:-1], "y.json", "-o", "modl=r7", code=2)
    assert "expected key=value" in refused(*words[:-1], "y.json", "-o", "model", code=2)
