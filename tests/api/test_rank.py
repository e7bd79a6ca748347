"""Guards ``rank`` and ``predict``: the scores of training, from any source, or one clear line."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

import cltr
from cltr.data.dataset_file import save_dataset
from cltr.errors import CltrError, DataError, UnsupportedError, UsageError
from cltr.experiment.export_run import export
from cltr.experiment.run_model import RunModel
from cltr.files.trec import read_run
from cltr.logs.log_file import open_log
from cltr.policies import PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.serving import ServingRule, sample_ranking
from cltr.testing import tiny_dataset
from cltr.training.score_documents import score
from tests import small
from tests.api.conftest import SMALL

NAMES = ("bm25", "a [strange] name*", "price", "select", "age")


@pytest.fixture
def frame():
    """Raw features on very different scales, with judgements; queries lie in pieces."""
    rng = np.random.default_rng(3)
    n = 400
    values = {name: rng.lognormal(0, 2, n) * 10.0**i for i, name in enumerate(NAMES)}
    values["price"] = rng.normal(50, 3, n)
    return {
        "query": [f"q {i}" for i in rng.permutation(np.arange(n) % 40)],
        "document": [f"d{i}" for i in range(n)],
        "label": rng.integers(0, 5, n),
        **values,
    }


def trained(frame, normalize="none", **options):
    data = cltr.read_dataset(frame, normalize=normalize)
    save_dataset(data, "data.h5")
    return cltr.train(**{**SMALL, **options}, data="data.h5", out="run"), data


def by_pair(table):
    columns = (table[name].to_pylist() for name in ("query", "document", "score"))
    return {(query, document): value for query, document, value in zip(*columns, strict=True)}


def expected(run, data):
    """The scores of the trained model on the data as they are stored."""
    scores = score(RunModel.open(run.path).model, data)
    owners = np.repeat(data.query_ids, data.lists.lengths).tolist()
    return dict(zip(zip(owners, data.document_ids.tolist(), strict=True), scores, strict=True))


def agree(found, known):
    assert found.keys() == known.keys()
    np.testing.assert_allclose([found[pair] for pair in known], list(known.values()), rtol=2e-5)


@pytest.mark.parametrize("normalize", ["none", "z-score", "log1p-z-score", "query-min-max"])
@pytest.mark.parametrize("scorer", ["mlp", "linear"])
def test_raw_features_get_the_scores_of_training(frame, normalize, scorer):
    options = {k: v for k, v in SMALL["options"].items() if k != "scorer.hidden"}
    if normalize == "none":  # raw features would leave all scores at the limit of 32 bits
        frame |= {name: (np.array(frame[name]) % 1.0) for name in NAMES}
    run, data = trained(frame, normalize, scorer=scorer, options=options)
    known = expected(run, data)
    backwards = {name: frame[name] for name in reversed(frame)}
    agree(by_pair(run.rank(backwards).table()), known)
    agree(by_pair(run.rank("data.h5").table()), known)
    agree(by_pair(run.rank().table()), known)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_files_in_and_out(frame, ending):
    run, data = trained(frame, "z-score")
    table = pyarrow.table(frame)
    if ending == "parquet":
        pyarrow.parquet.write_table(table, "new.parquet")
    elif ending == "csv":
        pyarrow.csv.write_csv(table, "new.csv")
    else:
        with open("new.jsonl", "w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in table.to_pylist())
    found = cltr.rank("run", data=f"new.{ending}", out=f"ranked.{ending}")
    assert found.result == {"run": "run", "queries": 40, "rows": 400, "out": f"ranked.{ending}"}
    known, read = expected(run, data), {}
    if ending == "parquet":
        read = by_pair(pyarrow.parquet.read_table("ranked.parquet"))
    elif ending == "csv":
        read = by_pair(pyarrow.csv.read_csv("ranked.csv"))
    else:
        lines = [json.loads(line) for line in Path("ranked.jsonl").read_text().splitlines()]
        read = {(line["query"], line["document"]): line["score"] for line in lines}
    agree(read, known)


def test_ranks_and_weights_are_those_of_the_policy(dataset):
    run = cltr.train(**SMALL, out="run")
    found = run.rank().to_frame()
    scores = score(RunModel.open(run.path).model, dataset)
    weights = PlackettLuce().expected_weights(scores, dataset.lists, rank_weights("dcg", 5))
    by_document = found.set_index("document")
    ids = dataset.document_ids.astype(str)
    np.testing.assert_array_equal(by_document.loc[ids, "weight"], weights)
    for _, rows in found.groupby("query", sort=False):
        assert rows["rank"].tolist() == list(range(1, len(rows) + 1))
        assert (np.diff(rows["score"]) <= 0).all()
    run.rank(out="x.trec")
    pairs = read_run(Path("x.trec"))
    assert (
        dict(zip(pairs.documents, pairs.values, strict=True))
        == found.set_index("document")["score"].to_dict()
    )


def test_predict_takes_arrays_and_frames(frame):
    run, data = trained(frame, "z-score")
    known = expected(run, data)
    pairs = list(zip(frame["query"], frame["document"], strict=True))
    wanted = [known[pair] for pair in pairs]
    matrix = np.column_stack([frame[name] for name in NAMES])
    np.testing.assert_allclose(run.predict(matrix), wanted, rtol=2e-5)
    columns = {name: frame[name] for name in reversed(NAMES)}
    np.testing.assert_allclose(run.predict(columns), wanted, rtol=2e-5)
    with pytest.raises(DataError, match=r"shape \(400, 4\); the model has 5 features"):
        run.predict(matrix[:, :4])
    with pytest.raises(DataError, match="missing or infinite"):
        run.predict(np.full((1, 5), np.nan))
    with pytest.raises(DataError, match="missing: 'price'"):
        run.predict({name: frame[name] for name in NAMES if name != "price"})


# Wrong features.


def test_missing_features_are_named(frame):
    run, _ = trained(frame)
    frame["prise"] = frame.pop("price")
    with pytest.raises(DataError) as caught:
        run.rank(frame)
    assert str(caught.value) == (
        "data frame: 1 of the model's 5 features are missing: 'price'; unknown to the model: "
        "'prise'. Did you mean 'prise'?"
    )


def test_features_without_names_must_be_as_many(dataset):
    run = cltr.train(**SMALL, out="run")
    n = dataset.n_features
    owners = np.repeat(dataset.query_ids, dataset.lists.lengths).tolist()
    frame = {"query": owners, "document": dataset.document_ids.tolist()}
    columns = {f"x{i}": dataset.features[:, i] for i in range(n)}
    agree(by_pair(run.rank({**frame, **columns}).table()), expected(run, dataset))
    numbered = {f"feature {i + 1}": dataset.features[:, i] for i in reversed(range(n))}
    agree(by_pair(run.rank({**frame, **numbered, "y": owners}).table()), expected(run, dataset))
    with pytest.raises(DataError, match=f"has {n + 1} columns that could be features"):
        run.rank({**frame, **columns, "another": columns["x0"]})


def test_text_and_tables_of_many_columns_get_a_short_line(frame, dataset):
    run, _ = trained(frame)
    with pytest.raises(DataError, match="'price' holds text") as caught:
        run.rank({**frame, "price": ["x"] * len(frame["price"])})
    assert "--leave-out" not in str(caught.value)
    more = {f"more {number}": frame["price"] for number in range(300)}
    lacking = {name: values for name, values in frame.items() if name != "document"}
    with pytest.raises(DataError, match=r"which column is the document.* more; name it"):
        run.rank({**lacking, **more})


def test_missing_values_are_refused_or_zero(frame):
    run, _ = trained(frame, "z-score")
    zero = {**frame, "price": [0.0, *frame["price"][1:]]}
    holes = {**frame, "price": [None, *frame["price"][1:]]}
    with pytest.raises(DataError, match="price"):
        run.rank(holes)
    agree(by_pair(run.rank(holes, missing="zero").table()), by_pair(run.rank(zero).table()))


def test_another_normalisation_is_refused(frame):
    run, _ = trained(frame, "z-score")
    other = cltr.read_dataset(frame, normalize="log1p-z-score")
    with pytest.raises(DataError, match="normalised by 'log1p-z-score' in another way"):
        run.rank(other)


def test_a_table_of_scores_ranks_its_own_documents_only(dataset):
    run = cltr.train(**{**SMALL, "options": {}}, scorer="table", out="run")
    agree(by_pair(run.rank().table()), expected(run, dataset))
    with pytest.raises(UsageError, match="'table' knows the documents of its own data set only"):
        run.rank(small.dataset(seed=1))


# Requests.


def test_requests_get_what_the_serving_rule_says(frame):
    hostile = {"d0": "coin", "d1": "it's", "d2": 'a"b', "d3": "é ☃", "d4": "select"}
    frame["document"] = [hostile.get(one, one) for one in frame["document"]]
    run, data = trained(frame, "z-score")
    ServingRule(top_k=5).save("run/serving.json")
    queries = data.query_ids.tolist()
    asked = {"request": [f"r'{i}" for i in range(80)], "query": queries * 2}
    table = run.rank(frame, requests=asked).table()
    scores = by_pair(run.rank(frame).table())
    for request, query in zip(*asked.values(), strict=True):
        shown = [row["document"] for row in table.to_pylist() if row["request"] == request]
        own = {document: value for (q, document), value in scores.items() if q == query}
        assert tuple(shown) == sample_ranking(own, request, top_k=5)


def test_shares_of_queries_are_served(dataset):
    run = cltr.train(**SMALL, out="run")
    queries = dataset.query_ids.tolist()
    shares = dict(zip(queries, np.linspace(0.2, 0.8, len(queries)).tolist(), strict=True))
    ServingRule(0.0, production="sampled", top_k=5, shares=shares).save("run/serving.json")
    table = run.rank().to_frame()
    assert dict(zip(table["query"], table["share"], strict=True)) == shares
    asked = {"request": [str(i) for i in range(50 * len(queries))], "query": queries * 50}
    served = run.rank(requests=asked).to_frame()
    first = served[served["rank"] == 1]
    assert abs((first["arm"] == "new").mean() - 0.5) < 0.06
    with pytest.raises(UsageError, match="production's scores are needed"):
        run.rank(tiny_dataset(24, seed=1), requests=asked)


def test_requests_for_unknown_queries_or_twice_are_refused():
    run = cltr.train(**SMALL, out="run")
    with pytest.raises(DataError, match="has no column 'request'; expected 'request' and 'query'"):
        run.rank(requests={"id": ["1"], "query": ["q0"]})
    with pytest.raises(DataError, match="query 'nowhere', which has no documents"):
        run.rank(requests={"request": ["1"], "query": ["nowhere"]})
    with pytest.raises(DataError, match="request '1' appears twice"):
        run.rank(requests={"request": ["1", "1"], "query": ["q0", "q0"]})


# Folders that have moved, and old ones.


def test_a_moved_run_is_whole(frame, here, monkeypatch):
    run, data = trained(frame, "z-score")
    known, judged = expected(run, data), run.evaluate().result["metrics"]
    (here / "a").mkdir()
    shutil.move("run", "a/run")
    shutil.move("data.h5", "a/data.h5")
    (here / "b").mkdir()
    monkeypatch.chdir(here / "b")
    agree(by_pair(cltr.load("../a/run").rank(frame).table()), known)
    assert cltr.evaluate("../a/run").result["metrics"] == judged


def test_a_run_of_version_0_1_is_opened_by_its_data(frame, here):
    run, data = trained(frame, "z-score")
    known = expected(run, data)
    for name in ("inputs.json", "sample.safetensors", "serving.json", "README.md"):
        (here / "run" / name).unlink()
    agree(by_pair(cltr.load("run").rank(frame).table()), known)
    (here / "data.h5").unlink()
    with pytest.raises(CltrError, match=r"run: the run has no inputs.json, .*data.h5: no such"):
        cltr.load("run").rank(frame)


def test_a_newer_or_damaged_folder_says_so(here):
    cltr.train(**SMALL, out="run")
    path = here / "run/inputs.json"
    values = json.loads(path.read_text())
    path.write_text(json.dumps({**values, "version": 2}))
    with pytest.raises(DataError, match="has version 2, newer than 1; upgrade cltr"):
        cltr.rank("run")
    path.write_text(json.dumps({**values, "feature_names": ["one"]}))
    with pytest.raises(DataError, match="not a description of a model's inputs"):
        cltr.rank("run")


def test_an_unknown_ending_leaves_nothing(here):
    cltr.train(**SMALL, out="run")
    before = {*here.iterdir()}
    with pytest.raises(UsageError, match=r"must end in .parquet"):
        cltr.rank("run", out="x.xlsx")
    assert {*here.iterdir()} == before


# Models that add to production's scores.


@pytest.fixture
def residual(dataset):
    """A run on a log with production's scores: it learns what to add to them."""
    cltr.simulate(out="log.h5", interactions=3000)
    run = cltr.train(**{**SMALL, "interactions": None}, log="log.h5", out="run", on_doubt="ignore")
    scores = open_log(Path("log.h5")).scores
    owners = np.repeat(dataset.query_ids, dataset.lists.lengths).tolist()
    table = {"query": owners, "document": dataset.document_ids.tolist(), "score": scores}
    return run, table


def test_production_scores_are_an_input(residual, dataset):
    run, table = residual
    assert json.loads(Path("run/inputs.json").read_text())["production_score_is_an_input"]
    known = by_pair(run.rank().table())
    agree(by_pair(run.rank(dataset).table()), known)  # it is the run's own
    agree(by_pair(run.rank(dataset, production=table).table()), known)
    agree(by_pair(run.rank(small.dataset(), production=table).table()), known)
    found = run.predict(dataset.features, production=table["score"])
    pairs = zip(table["query"], table["document"], strict=True)
    np.testing.assert_allclose(found, [known[pair] for pair in pairs], rtol=1e-6)
    moved = np.array(table["score"]) + 1.5
    np.testing.assert_allclose(run.predict(dataset.features, production=moved), found + 1.5)
    columns = {f"feature {i + 1}": dataset.features[:, i] for i in range(dataset.n_features)}
    new = {key: table[key] for key in ("query", "document")} | columns
    for call in (lambda: run.rank(new), lambda: run.predict(dataset.features)):
        with pytest.raises(UsageError, match="production's scores are an input of the model"):
            call()


@pytest.mark.parametrize("to", ["json", "onnx", "solr"])
def test_exports_of_such_models_take_production_scores(residual, to):
    run, _ = residual
    try:
        found = export(run.path, to=to)
    except UnsupportedError as error:
        assert to == "solr"
        assert "logarithm" in str(error)
        return
    assert found["largest_difference"] < 1e-5
    assert "production's score" in Path(found["card"]).read_text()
    assert "The run's verdict: " in Path(found["card"]).read_text()
