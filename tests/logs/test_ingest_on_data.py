"""Guards logs on a data set's documents: test queries, scores and propensities of production."""

import numpy as np
import pytest

from cltr.errors import DataError, UsageError
from cltr.logs.readers import LongReader
from cltr.logs.splitting import Split
from cltr.logs.stored_sessions import read_sessions
from cltr.testing import tiny_dataset
from cltr.types import LOG_PARTS
from tests import plain_logs
from tests.counting import count_log
from tests.logs.ingesting import MANY, found, ingest
from tests.plain_logs import count, counted, write_csv


def data_log(dataset, n=40, seed=0):
    """Interactions on some queries of a data set: rows, with document ids of the data set."""
    rng = np.random.default_rng(seed)
    table = []
    for i in range(n):
        q = int(rng.integers(dataset.n_queries))
        docs = dataset.document_ids[dataset.offsets[q] : dataset.offsets[q + 1]]
        shown = rng.permutation(docs)[:4]
        table += [
            {
                "session": i,
                "query": str(dataset.query_ids[q]),
                "position": p,
                "doc": str(doc),
                "click": int(rng.random() < 0.3),
            }
            for p, doc in enumerate(shown, start=1)
        ]
    return table


def test_a_log_lies_on_the_documents_of_a_data_set(tmp_path):
    data = tiny_dataset()
    table = data_log(data, 200)
    report, log = ingest(write_csv(tmp_path / "log.csv", table), dataset=data, sessions=True)
    impressions, clicks, displays, _ = count(table)
    tested = set(data.part("test").query_ids)
    assert list(log.statistics) == list(LOG_PARTS)
    for split, part in log.statistics.items():
        lists = data.part(split)
        for q, query in enumerate(lists.query_ids):
            assert part.displays[q] == displays[query]
            for d in range(lists.offsets[q], lists.offsets[q + 1]):
                for k in range(part.top_k):
                    key = query, lists.document_ids[d], k + 1
                    assert part.impressions[d, k] == impressions[key]
                    assert part.clicks[d, k] == clicks[key]
        again = count_log(read_sessions(tmp_path / "log.h5", split), lists.offsets)
        np.testing.assert_array_equal(again.impressions, part.impressions)
        np.testing.assert_array_equal(again.displays, part.displays)
    on_test = sum(n for (query, _, _), n in impressions.items() if query in tested)
    assert found(report)["test-queries"] == on_test == report["impressions"]["test"] > 0
    (row,) = [row for row in report["problems"] if row["problem"] == "test-queries"]
    assert row["action"] == "keep"
    assert log.lists is None and log.fingerprint == data.fingerprint


def test_interactions_on_test_queries_can_be_dropped_or_refused(tmp_path):
    data = tiny_dataset()
    path = write_csv(tmp_path / "log.csv", data_log(data, 200))
    _, kept = ingest(path, dataset=data)
    report, dropped = ingest(path, dataset=data, on=["test-queries=drop"])
    assert list(dropped.statistics) == list(report["clicks"]) == ["train", "valid"]
    assert report["notes"] == []
    for split, part in dropped.statistics.items():
        np.testing.assert_array_equal(part.clicks, kept.statistics[split].clicks)
    with pytest.raises(DataError, match="impressions on test queries of the data set"):
        ingest(path, dataset=data, on=["test-queries=refuse"])


def test_a_log_without_test_queries_says_so(tmp_path):
    data = tiny_dataset()
    tested = set(data.part("test").query_ids.astype(str))
    table = [row for row in data_log(data, 200) if row["query"] not in tested]
    report, log = ingest(write_csv(tmp_path / "log.csv", table), dataset=data)
    assert "test" not in log.statistics and "test" not in report["n_interactions"]
    assert "nothing was logged on the test queries" in report["notes"][0]


@pytest.mark.parametrize("more", [{"split": Split(test_share=0.2)}, {"test": ["t.csv"]}])
def test_the_test_part_on_a_data_set_is_its_test_queries(tmp_path, more):
    path = write_csv(tmp_path / "log.csv", MANY)
    with pytest.raises(UsageError, match="with --data, the test part is what was logged on"):
        ingest(path, dataset=tiny_dataset(), **more)


def test_documents_without_features_are_counted(tmp_path):
    data = tiny_dataset()
    table = data_log(data, 100)
    table += [
        {"session": "x", "query": "q0", "position": p, "doc": f"new{p}", "click": 0} for p in (1, 2)
    ]
    report, _ = ingest(write_csv(tmp_path / "log.csv", table), dataset=data)
    assert found(report)["unknown-documents"] == 2
    with pytest.raises(DataError, match="that the data set does not hold"):
        ingest(tmp_path / "log.csv", dataset=data, on=["unknown-documents=refuse"])


def test_a_log_of_other_documents_is_refused(tmp_path):
    with pytest.raises(
        DataError, match="no document of the log is in 'tiny'; the log has query 'q'"
    ):
        ingest(write_csv(tmp_path / "log.csv", MANY), dataset=tiny_dataset())


def test_logged_scores_are_kept_if_they_do_not_change(tmp_path):
    table = [row | {"points": 0.5 * ord(row["doc"])} for row in MANY]
    path = plain_logs.write_jsonl(tmp_path / "log.jsonl", table)
    reader = LongReader(score_column="points")
    report, log = ingest(path, reader=reader)
    np.testing.assert_allclose(log.scores, [48.5, 49.0, 49.5])
    assert report["scores"]
    table[5]["points"] = 7.0
    report, log = ingest(plain_logs.write_jsonl(path, table), reader=reader)
    assert log.scores is None and found(report) == {"varying-scores": 1}
    with pytest.raises(DataError, match="whose logged score changes"):
        ingest(path, reader=reader, on=["varying-scores=refuse"])


def test_propensities_are_taken_as_they_are(tmp_path):
    table = [row | {"p": {"a": 0.5, "b": 0.25, "c": 0.125}[row["doc"]]} for row in MANY]
    path = plain_logs.write_jsonl(tmp_path / "log.jsonl", table)
    log = ingest(path, reader=LongReader(propensity_column="p"))[1]
    np.testing.assert_array_equal(
        log.propensities, [[0.5, 0.5, 0], [0.25, 0.25, 0.25], [0.125, 0, 0.125]]
    )
    table[4]["p"] = 0.0
    plain_logs.write_jsonl(path, table)
    with pytest.raises(DataError, match=r"propensities outside \(0, 1\].*such as data row 5"):
        ingest(path, reader=LongReader(propensity_column="p"))


def test_production_scores_bring_documents_that_were_never_shown(tmp_path):
    path = write_csv(tmp_path / "log.csv", MANY)
    scores = tmp_path / "scores.csv"
    scores.write_text(
        "query,document,score\n" + "".join(f"q,{d},{i}\n" for i, d in enumerate("abcz"))
    )
    report, log = ingest(path, production=scores)
    assert log.lists.document_ids.tolist() == ["a", "b", "c", "z"]
    assert log.scores.tolist() == [0, 1, 2, 3]
    assert found(report) == {"unshown-documents": 1}
    assert counted(log) == counted(ingest(path)[1])


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ("q,a,1\nq,b,2\n", "1 of 3 documents have no score, such as 'c' of query 'q'"),
        ("q,a,x\n", "query 'q', document 'a' has a score that is no finite number"),
        ("q,a,1\nq,a,2\n", "query 'q', document 'a' has two different scores"),
    ],
)
def test_production_scores_that_cannot_be(tmp_path, lines, line):
    scores = tmp_path / "scores.csv"
    scores.write_text("query,document,score\n" + lines)
    with pytest.raises(DataError, match=line):
        ingest(write_csv(tmp_path / "log.csv", MANY), production=scores)
