"""Guards the scikit-learn style class: what it learns, both forms of clicks, clones, refusals."""

import gc
import pickle

import numpy as np
import pytest

import cltr
from cltr.errors import CltrError, DataError, UsageError
from cltr.logs.log_file import open_log

N_QUERIES, N_DOCUMENTS, N_SESSIONS = 12, 4, 3000
EXAMINATION = np.array([1.0, 0.6, 0.4, 0.3])
SMALL = {
    "click_model": "pbm",
    "reward": "ips",
    "scorer": "linear",
    "top_k": 4,
    "on_doubt": "ignore",
    "options": {"training.epochs": 60, "training.learning_rate": 0.1},
}


@pytest.fixture(scope="module")
def shown():
    """Random lists of documents whose relevance is their first feature; PBM users."""
    rng = np.random.default_rng(0)
    features = rng.random((N_QUERIES, N_DOCUMENTS, 3)).astype(np.float32)
    qid = rng.integers(N_QUERIES, size=N_SESSIONS)
    order = rng.random((N_SESSIONS, N_DOCUMENTS)).argsort(-1)
    relevance = features[qid[:, None], order, 0]
    clicks = rng.random(order.shape) < EXAMINATION * relevance
    return features, qid, order, clicks


@pytest.fixture(scope="module")
def rows(shown):
    features, qid, order, clicks = shown
    return {
        "X": features[qid[:, None], order].reshape(-1, 3),
        "clicks": clicks.ravel().astype(int),
        "qid": np.repeat(qid, N_DOCUMENTS),
        "position": np.tile(np.arange(1, N_DOCUMENTS + 1), N_SESSIONS),
        "session": np.repeat(np.arange(N_SESSIONS), N_DOCUMENTS),
    }


@pytest.fixture(scope="module")
def counts(shown):
    features, qid, order, clicks = shown
    impressions = np.zeros((N_QUERIES, N_DOCUMENTS, N_DOCUMENTS), int)
    clicked = np.zeros_like(impressions)
    at = (qid[:, None], order, np.arange(N_DOCUMENTS)[None])
    np.add.at(impressions, at, 1)
    np.add.at(clicked, at, clicks)
    shape = (N_QUERIES * N_DOCUMENTS, N_DOCUMENTS)
    return {
        "X": features.reshape(-1, 3),
        "clicks": clicked.reshape(shape),
        "impressions": impressions.reshape(shape),
        "qid": np.repeat([f"q{i}" for i in range(N_QUERIES)], N_DOCUMENTS),
    }


def agreement(ranker, shown) -> float:
    """Correlation of scores with relevance, which is the first feature."""
    features = shown[0].reshape(-1, 3)
    return float(np.corrcoef(ranker.predict(features), features[:, 0])[0, 1])


@pytest.mark.parametrize("form", ["rows", "counts"])
def test_it_learns_what_users_find_relevant(form, shown, request):
    ranker = cltr.ClickRanker(**SMALL).fit(**request.getfixturevalue(form))
    assert agreement(ranker, shown) > 0.8
    assert ranker.n_features_in_ == 3
    assert isinstance(ranker.run_, cltr.Run)
    assert ranker.run_.evaluate().estimated_gain == ranker.run_.estimated_gain


def test_the_order_of_rows_and_the_kind_of_ids_do_not_matter(rows):
    first = cltr.ClickRanker(**SMALL).fit(**rows)
    mixed = np.random.default_rng(1).permutation(len(rows["qid"]))
    other = {key: value[mixed] for key, value in rows.items()}
    pandas = pytest.importorskip("pandas")
    other["X"] = pandas.DataFrame(other["X"])
    other["qid"] = other["qid"].astype(float)
    second = cltr.ClickRanker(**SMALL).fit(**other)
    np.testing.assert_allclose(second.predict(rows["X"][:9]), first.predict(rows["X"][:9]))


def test_counts_keep_every_impression(counts, tmp_path):
    ranker = cltr.ClickRanker(**SMALL, out=tmp_path / "run").fit(**counts)
    assert ranker.run_.path == tmp_path / "run"
    log = open_log(tmp_path / "run" / "log.h5")
    parts = log.statistics.values()
    assert sum(part.impressions.sum() for part in parts) == counts["impressions"].sum()
    assert sum(part.clicks.sum() for part in parts) == counts["clicks"].sum()


def test_production_scores_give_the_exact_exposure(rows):
    scored = cltr.ClickRanker(**SMALL).fit(**rows, production_score=np.zeros(len(rows["qid"])))
    assert scored.run_.result["exposure"] == "exact"
    assert cltr.ClickRanker(**SMALL).fit(**rows).run_.result["exposure"] == "counted"


def test_scikit_learn_clones_it():
    base = pytest.importorskip("sklearn.base")
    ranker = cltr.ClickRanker(estimator=cltr.PRPO(clip=0.5), top_k=3)
    assert ranker.get_params()["top_k"] == 3
    assert ranker.set_params(top_k=4, seed=2) is ranker
    copy = base.clone(ranker)
    assert copy is not ranker and copy.top_k == 4 and copy.estimator.options.clip.plain() == 0.5
    with pytest.raises(UsageError, match=r"no parameter 'topk'.*Did you mean 'top_k'"):
        ranker.set_params(topk=3)
    assert repr(cltr.ClickRanker(reward="ips", seed=2)) == "ClickRanker(reward='ips', seed=2)"


def test_the_run_is_kept_as_long_as_the_object(rows):
    ranker = cltr.ClickRanker(**SMALL).fit(**rows)
    path = ranker.run_.path
    assert path.is_dir()
    del ranker
    gc.collect()
    assert not path.exists()


def test_a_copy_from_a_pickle_predicts_the_same(rows):
    # scikit-learn asks it of estimators: a grid search sends them to its processes as pickles.
    # cltr itself reads and writes no pickle.
    ranker = cltr.ClickRanker(**SMALL).fit(**rows)
    copy = pickle.loads(pickle.dumps(ranker))
    assert (copy.predict(rows["X"][:9]) == ranker.predict(rows["X"][:9])).all()
    lists = ranker.predict(rows["X"][:8], qid=[1] * 4 + [2] * 4)
    np.testing.assert_allclose(lists, ranker.predict(rows["X"][:8]))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"position": None}, "fit needs either position"),
        ({"session": None}, "to say which rows were shown together"),
        ({"qid": [1, 2]}, r"qid has the shape \(2,\); expected \(12000,\), as X has 12000 rows"),
        ({"impressions": [[1]]}, "counts by rank have no position and no session"),
        ({"document": np.zeros(12000)}, "row .*: document '0.0' of query '.*' has other features"),
        ({"X": [[np.nan]]}, "X has nan in row 0, column 0"),
        ({"X": [["red"]]}, "X is no matrix of numbers"),
        ({"X": [1.0]}, r"X has the shape \(1,\); expected \[rows, features\]"),
        ({"clicks": np.full(12000, 7)}, "click"),
    ],
)
def test_wrong_rows_are_one_line(rows, change, line):
    with pytest.raises(CltrError, match=line) as caught:
        cltr.ClickRanker(**SMALL).fit(**rows | change)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"clicks": np.zeros((48, 3))}, r"clicks have the shape \(48, 3\), impressions \(48, 4\)"),
        ({"clicks": np.full((48, 4), 10**6)}, "row 0, rank 1: 1000000 clicks on"),
        ({"clicks": np.full((48, 4), 0.5)}, "clicks must be whole numbers of at least 0"),
        ({"clicks": np.zeros(48)}, r"clicks has the shape \(48,\); expected \[rows, ranks\]"),
        ({"document": [1] * 48}, "a document of a query has two rows; add their counts up"),
    ],
)
def test_wrong_counts_are_one_line_and_leave_nothing(counts, change, line, here):
    with pytest.raises(DataError, match=line):
        cltr.ClickRanker(**SMALL, out="run").fit(**counts | change)
    assert not (here / "run" / "log.h5").exists()


def test_prediction_needs_a_fit_and_its_features(rows):
    with pytest.raises(CltrError, match="not fitted yet; call fit first"):
        cltr.ClickRanker().predict(rows["X"])
    ranker = cltr.ClickRanker(**SMALL).fit(**rows)
    with pytest.raises(DataError, match="X has 2 features; the ranker was fitted on 3"):
        ranker.predict(rows["X"][:, :2])
    with pytest.raises(DataError, match="rows of a query must be side by side"):
        ranker.predict(rows["X"][:3], qid=[1, 2, 1])
    with pytest.raises(UsageError, match="the scorer 'table' has a score for each known document"):
        cltr.ClickRanker(**SMALL | {"scorer": "table"}).fit(**rows)
