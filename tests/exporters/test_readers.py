"""Guards what is known of Solr and OpenSearch: their arithmetic, and what they refuse."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from cltr.errors import DataError
from cltr.exporters.opensearch_reader import opensearch_scores
from cltr.exporters.solr_reader import solr_scores

SOLR = "org.apache.solr.ltr"


def solr(path, kind, features, params):
    """A file for the model store."""
    values = {"class": f"{SOLR}.model.{kind}", "name": "m", "features": features, "params": params}
    path.write_text(json.dumps(values))
    return path


def named(*names):
    return [{"name": name} for name in names]


def norm(kind, **params):
    return {"class": f"{SOLR}.norm.{kind}", "params": params}


@pytest.mark.parametrize(
    ("one", "out"),
    [
        (norm("StandardNormalizer", avg="42", std="6"), [-0.5, 0.0, 0.5]),
        (norm("MinMaxNormalizer", min="39", max="45"), [0.0, 0.5, 1.0]),
        (norm("IdentityNormalizer"), [39.0, 42.0, 45.0]),
    ],
)
def test_solr_normalises_as_its_documentation_says(one, out, tmp_path):
    features = [{"name": "a", "norm": one}]
    path = solr(tmp_path / "m.json", "LinearModel", features, {"weights": {"a": 1.0}})
    assert solr_scores(path, {"a": np.array([39.0, 42, 45])}).tolist() == out


@pytest.mark.parametrize(
    ("activation", "out"),
    [
        ("relu", [0.0, 3.0]),
        ("leakyrelu", [-0.05, 3.0]),
        ("identity", [-5.0, 3.0]),
        ("tanh", np.tanh([-5.0, 3.0])),
        ("sigmoid", 1 / (1 + np.exp([5.0, -3.0]))),
    ],
)
def test_solr_activations(activation, out, tmp_path):
    layers = [
        {"matrix": [[1.0, 2.0]], "bias": [-1.0], "activation": activation},
        {"matrix": [[2.0]], "bias": [1.0], "activation": "identity"},
    ]
    path = solr(tmp_path / "m.json", "NeuralNetworkModel", named("a", "b"), {"layers": layers})
    values = {"b": np.array([-2.0, 1.0]), "a": np.array([0.0, 2.0])}
    np.testing.assert_allclose(solr_scores(path, values), 1 + 2 * np.array(out), rtol=1e-6)


def layer(matrix, bias=(0.0,), activation="identity", **more):
    return {"matrix": matrix, "bias": [*bias], "activation": activation, **more}


@pytest.mark.parametrize(
    ("layers", "line"),
    [
        ([layer([[1.0, 2.0]])], "2 columns for 1 inputs"),
        ([layer([[1.0], [2.0]], [0.0, 0.0])], "one row, not 2"),
        ([layer([[1.0]], [0.0, 1.0])], "other numbers of rows"),
        ([layer([[1]])], "a value that is no double"),
        ([layer([[1.0]], activation="softplus")], "no activation of Solr: 'softplus'"),
        ([layer([[1.0]], units=1)], "layer 0 has other keys"),
    ],
)
def test_solr_refuses_layers(layers, line, tmp_path):
    path = solr(tmp_path / "m.json", "NeuralNetworkModel", named("a"), {"layers": layers})
    with pytest.raises(DataError, match=line):
        solr_scores(path, {"a": np.ones(2)})


@pytest.mark.parametrize(
    ("kind", "features", "params", "line"),
    [
        ("LinearModel", named("a", "a"), {"weights": {"a": 1.0}}, "a feature twice"),
        ("LinearModel", named("b"), {"weights": {"b": 1.0}}, "'b' is not in the store"),
        ("LinearModel", named("a"), {"weights": {}}, "no weight of feature 'a'"),
        ("LinearModel", named("a"), {"weights": {"a": 1.0}, "bias": 2.0}, "weights alone"),
        ("LinearModel", [], {"weights": {}}, "declares no features"),
        ("Other", named("a"), {}, "no class that is known here"),
        (
            "LinearModel",
            [{"name": "a", "norm": norm("StandardNormalizer", avg=1.0, std="1")}],
            {"weights": {"a": 1.0}},
            "'avg' must be text, not 1.0",
        ),
        (
            "LinearModel",
            [{"name": "a", "norm": norm("StandardNormalizer", avg="1", std="0")}],
            {"weights": {"a": 1.0}},
            "deviation of a normalizer must be positive",
        ),
    ],
)
def test_solr_refuses_models(kind, features, params, line, tmp_path):
    with pytest.raises(DataError, match=line):
        solr_scores(solr(tmp_path / "m.json", kind, features, params), {"a": np.ones(2)})


JAVA = """
public class Products {
    public static void main(String[] args) {
        var in = new java.util.Scanner(System.in).useLocale(java.util.Locale.ROOT);
        int rows = in.nextInt(), columns = in.nextInt();
        float bias = Float.parseFloat(in.next());
        float[] weights = new float[columns];
        for (int j = 0; j < columns; j++) weights[j] = Float.parseFloat(in.next());
        for (int i = 0; i < rows; i++) {
            float total = bias;
            for (int j = 0; j < columns; j++) total += weights[j] * Float.parseFloat(in.next());
            System.out.println(Float.floatToIntBits((float) Math.tanh(total)));
        }
    }
}
"""


@pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")
def test_sums_are_those_of_java_to_the_bit(tmp_path):
    rng = np.random.default_rng(0)
    values = (rng.normal(size=(300, 40)) * np.geomspace(1e-4, 1e4, 40)).astype(np.float32)
    weights = (rng.normal(size=40) / np.geomspace(1e-4, 1e4, 40)).tolist()
    layers = [layer([weights], [0.1], "tanh")]
    names = [f"f{j}" for j in range(40)]
    path = solr(tmp_path / "m.json", "NeuralNetworkModel", named(*names), {"layers": layers})
    found = solr_scores(path, dict(zip(names, values.T, strict=True))).astype(np.float32)
    (tmp_path / "Products.java").write_text(JAVA)
    numbers = [300, 40, 0.1, *weights, *values.ravel().tolist()]
    ran = subprocess.run(
        ["java", str(tmp_path / "Products.java")],
        input=" ".join(map(repr, numbers)),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert np.ptp(found) > 0.5
    assert found.view(np.int32).tolist() == [int(line) for line in ran.stdout.split()]


def opensearch(path, definition, *, more=None, kind="model/linear"):
    """The body of _createmodel."""
    model = {"type": kind, "definition": definition, **(more or {})}
    path.write_text(json.dumps({"model": {"name": "m", "model": model}}))
    return path


VALUES = {"a": np.array([39.0, 45.0]), "b": np.array([1.0, 2.0]), "c": np.array([7.0, 7.0])}


@pytest.mark.parametrize("definition", [{"b": 2, "a": 1.0}, '{"b": 2, "a": 1.0}'])
def test_opensearch_adds_up_what_has_a_weight(definition, tmp_path):
    found = opensearch_scores(opensearch(tmp_path / "m.json", definition), VALUES)
    assert found.tolist() == [41.0, 49.0]


def test_opensearch_standardises(tmp_path):
    norms = {"a": {"standard": {"mean": 42, "standard_deviation": 6}}}
    path = opensearch(tmp_path / "m.json", {"a": 1.0}, more={"feature_normalizers": norms})
    assert opensearch_scores(path, VALUES).tolist() == [-0.5, 0.5]


@pytest.mark.parametrize(
    ("definition", "how", "line"),
    [
        ({"z": 1.0}, {}, "feature 'z' is unknown"),
        ({"a": "1.0"}, {}, "'a' is '1.0', no number"),
        ({"a": True}, {}, "'a' is True, no number"),
        ('{"a": 1.0, "a": 2.0}', {}, "a field is there twice"),
        ([1.0], {}, "no weights by feature"),
        ({"a": 1.0}, {"kind": "model/ranklib"}, "no type known here: model/ranklib"),
        ({"a": 1.0}, {"more": {"bias": 1.0}}, "a field that is unknown: bias"),
        (
            {"a": 1.0},
            {"more": {"feature_normalizers": {"a": {"standard": {"mean": 1.0}}}}},
            "the deviation of 'a' must be positive",
        ),
    ],
)
def test_opensearch_refuses_models(definition, how, line, tmp_path):
    with pytest.raises(DataError, match=line):
        opensearch_scores(opensearch(tmp_path / "m.json", definition, **how), VALUES)
