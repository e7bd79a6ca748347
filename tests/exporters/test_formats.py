"""Guards the export formats: the arithmetic of any ranker with layers, or a refusal."""

import numpy as np
import pytest

from cltr import testing
from cltr.data.normalization import Normalization
from cltr.documents import Documents
from cltr.errors import UnsupportedError
from cltr.exporters.json_format import JsonExporter
from cltr.exporters.onnx_format import OnnxExporter
from cltr.exporters.opensearch_format import OpenSearchExporter
from cltr.exporters.solr_format import SolrExporter
from cltr.extensions import TrainedRanker

N, F = 60, 5
ALL = [JsonExporter, OnnxExporter, SolrExporter, OpenSearchExporter]
NETWORKS = ALL[:3]


def documents(seed=0, *, production=True):
    """Raw features on many scales, some far beyond ten deviations."""
    rng = np.random.default_rng(seed)
    features = rng.normal([0, 5, -100, 0.01, 3], [1, 2, 50, 0.004, 0], (N, F))
    features[::7] *= 30
    scores = rng.normal(0, 3, N) if production else None
    return Documents(features.astype(np.float32), np.arange(N), np.array([0, 20, N]), scores)


def ranker(*, hidden=(7, 4), normalize="none", cut=False, tailed=False, adds=False, seed=1):
    rng = np.random.default_rng(seed)
    state, width = {}, F
    for number, n in enumerate((*hidden, 1)):
        state[f"layers.{2 * number}.weight"] = rng.normal(0, 1, (n, width)).astype(np.float32)
        state[f"layers.{2 * number}.bias"] = rng.normal(0, 1, n).astype(np.float32)
        width = n
    if cut:
        state |= {
            "inputs/tailed": np.array([tailed, False, tailed, False, False]),
            "inputs/unit": np.array([0.5, 1, 30, 1, 1]),
            "inputs/center": np.array([0.1, 5, -1.5, 0.01, 3]),
            "inputs/scale": np.array([1.1, 2, 4.0, 0.004, np.inf]),
        }
    if adds:
        state["adds_to_production"] = np.array(True)
    center = np.array([0.1, 5, -100, 0.01, 3])
    scale = np.array([1, 2, 50, 0.004, np.inf])
    used = Normalization(normalize, center, scale) if normalize != "none" else Normalization()
    return TrainedRanker("mlp", state, F, "plackett-luce", 5, normalization=used, production=adds)


def expected(one: TrainedRanker, given: Documents):
    """The model's own arithmetic, written down once more."""
    values = one.normalization.apply(given.features, given.offsets).astype(np.float64)
    state = one.state
    if "inputs/scale" in state:
        logs = np.sign(values) * np.log1p(np.abs(values) / state["inputs/unit"])
        values = np.where(state["inputs/tailed"], logs, values)
        values = (values - state["inputs/center"]) / state["inputs/scale"]
        values = values.clip(-10, 10)
    numbers = sorted({int(key.split(".")[1]) for key in state if key.startswith("layers")})
    for place, number in enumerate(numbers):
        values = values.clip(0) if place else values
        weights, bias = (state[f"layers.{number}.{part}"] for part in ("weight", "bias"))
        values = values @ weights.T.astype(np.float64) + bias
    return values[:, 0] + (given.production if "adds_to_production" in state else 0)


def centred(values):
    return np.concatenate([values[:20] - values[:20].mean(), values[20:] - values[20:].mean()])


def agrees(exporter, one, path, *, tolerance=1e-5):
    given = documents()
    exporter.write(one, path)
    found, own = exporter.scores(path, given), expected(one, given)
    assert np.ptp(own) > 0.1
    gap = np.abs(centred(found) - centred(own)).max()
    assert gap < tolerance * np.ptp(own)


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("normalize", ["none", "z-score"])
@pytest.mark.parametrize("exporter", ALL)
def test_linear_rankers(exporter, normalize, adds, tmp_path):
    agrees(exporter(), ranker(hidden=(), normalize=normalize, adds=adds), tmp_path / "x")


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("hidden", [(), (7,), (7, 4)])
@pytest.mark.parametrize(("normalize", "cut"), [("none", True), ("z-score", False)])
@pytest.mark.parametrize("exporter", NETWORKS)
def test_networks_that_cut_their_inputs_and_add_to_production(
    exporter, normalize, cut, hidden, adds, tmp_path
):
    one = ranker(hidden=hidden, normalize=normalize, cut=cut, adds=adds)
    agrees(exporter(), one, tmp_path / "x")


@pytest.mark.parametrize("exporter", [JsonExporter, OnnxExporter])
@pytest.mark.parametrize(
    "how", [{"normalize": "log1p-z-score"}, {"cut": True, "tailed": True, "adds": True}]
)
def test_logarithms(exporter, how, tmp_path):
    agrees(exporter(), ranker(**how), tmp_path / "x")


def test_json_normalises_by_query(tmp_path):
    agrees(JsonExporter(), ranker(normalize="query-min-max"), tmp_path / "x")


@pytest.mark.parametrize(
    ("exporter", "one", "line"),
    [
        (SolrExporter, ranker(normalize="log1p-z-score"), "Solr cannot compute logarithms"),
        (
            SolrExporter,
            ranker(cut=True, tailed=True),
            "logarithm of 'feature 1', 'feature 3'; train",
        ),
        (SolrExporter, ranker(normalize="query-min-max"), "one document at a time"),
        (OnnxExporter, ranker(normalize="query-min-max"), "one document at a time"),
        (OpenSearchExporter, ranker(), "no neural networks"),
        (OpenSearchExporter, ranker(hidden=(), cut=True), "cannot clip inputs"),
        (
            OpenSearchExporter,
            ranker(hidden=(), normalize="log1p-z-score"),
            "cannot compute logarithms",
        ),
    ],
)
def test_what_a_format_cannot_express_is_refused(exporter, one, line, tmp_path):
    with pytest.raises(UnsupportedError, match=line) as caught:
        exporter().write(one, tmp_path / "x")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("exporter", ALL)
@pytest.mark.parametrize(
    ("scorer", "key"),
    [
        ("table", "weights"),
        ("boosted-trees", "tree000000"),
        ("self-attention", "inputs.weight"),
        ("dropout-norm", "first.weight"),
    ],
)
def test_scorers_that_are_no_layers_are_refused(exporter, scorer, key, tmp_path):
    """Those of cltr and of examples/scorers, by an array that each of them has."""
    one = TrainedRanker(scorer, {key: np.ones((1, F))}, F, "plackett-luce", 5)
    line = f"scorer '{scorer}' cannot be exported to .*: it has '{key}', .*; train with"
    with pytest.raises(UnsupportedError, match=line) as caught:
        exporter().write(one, tmp_path / "x")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("exporter", ALL)
def test_the_contract(exporter):
    scorers = ("linear",) if exporter is OpenSearchExporter else ("linear", "mlp")
    testing.check_exporter(exporter(), scorers=scorers)


def test_large_means_keep_their_digits_in_onnx(tmp_path):
    """Times in seconds: the mean is ten thousand deviations away, and 32 bits would lose it."""
    given = documents()
    given.features[:, 0] = 1.7e9 + 1.7e5 * given.features[:, 0]
    one = ranker(normalize="z-score")
    one.normalization.center[0], one.normalization.scale[0] = 1.7e9 + 13.0, 1.7e5
    exporter = OnnxExporter()
    exporter.write(one, tmp_path / "x")
    own = expected(one, given)
    gap = np.abs(exporter.scores(tmp_path / "x", given) - own).max()
    assert gap < 1e-5 * np.ptp(own)
