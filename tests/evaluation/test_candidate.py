"""Guards candidates from tables: what does not fit is counted and completed by the rule."""

import json

import numpy as np
import pytest

from cltr.errors import DataError, UsageError
from cltr.evaluation.candidate import (
    read_candidate,
    reference_policies,
    serve_scores,
    unchanged,
)
from cltr.policies import PlackettLuce
from cltr.policies.on_dataset import CountedPolicy, ScoredPolicy
from cltr.testing import tiny_dataset

DATA = tiny_dataset(6)
OWNERS = DATA.lists.owners
LONG, OTHER = np.argsort(-DATA.lists.lengths)[:2]
DCG = np.array([1.0, 0.5])


def production() -> ScoredPolicy:
    scores = np.random.default_rng(3).normal(size=DATA.n_documents)
    return ScoredPolicy(DATA, scores, PlackettLuce())


def rows(scores, column="score"):
    return [
        {"query": str(DATA.query_ids[q]), "document": str(d), column: float(s)}
        for q, d, s in zip(OWNERS, DATA.document_ids, scores, strict=True)
    ]


def write(path, table):
    path.write_text("".join(json.dumps(row) + "\n" for row in table))
    return path


def test_a_table_that_fits(tmp_path):
    scores = np.arange(DATA.n_documents, dtype=float)
    found = read_candidate(write(tmp_path / "s.jsonl", rows(scores)), DATA)
    assert np.array_equal(found.scores, scores)
    assert found.report.sentences() == []
    assert found.report.matched == found.report.rows == DATA.n_documents


def test_what_does_not_fit_is_counted(tmp_path):
    scores = np.arange(DATA.n_documents, dtype=float)
    first, second = (np.flatnonzero(q == OWNERS) for q in (LONG, OTHER))
    scores[first[1]] = scores[first[0]]
    table = rows(scores)
    dropped = {int(first[2]), *map(int, second)}
    table = [row for place, row in enumerate(table) if place not in dropped]
    table += [
        {"query": "elsewhere", "document": "x", "score": 1.0},
        {"query": "elsewhere", "document": "y", "score": 1.0},
        {"query": str(DATA.query_ids[LONG]), "document": "stranger", "score": 1.0},
    ]
    report = read_candidate(write(tmp_path / "s.jsonl", table), DATA).report
    assert report.missing_documents == 1
    assert report.unscored_queries == 1
    assert report.unknown_queries == 1
    assert report.unknown_documents == 1
    assert report.tied_documents == 2
    assert report.matched == DATA.n_documents - len(dropped)
    assert len(report.sentences()) == 5


def test_ranks_are_turned_and_never_drawn_from(tmp_path):
    ranks = np.concatenate([np.arange(1, n + 1) for n in DATA.lists.lengths]).astype(float)
    found = read_candidate(write(tmp_path / "r.jsonl", rows(ranks, "rank")), DATA)
    assert found.ranked
    served = serve_scores(found.scores, production(), serve="sorted", ranked=True)
    assert np.array_equal(served.weights(DCG)[DATA.lists.starts], np.ones(DATA.n_queries))
    with pytest.raises(UsageError, match="ranks only"):
        serve_scores(found.scores, production(), serve="sampled", ranked=True)


def test_missing_documents_come_last_in_productions_order():
    policy = production()
    scores = np.full(DATA.n_documents, np.nan)
    one = np.flatnonzero(OWNERS == LONG)
    scores[one[-1]] = -5.0
    served = serve_scores(scores, policy, serve="sorted")
    ranks = served.new.expected_ranks(one)
    assert ranks[-1] == 1
    assert np.array_equal(np.argsort(ranks[:-1]), np.argsort(-policy.scores[one[:-1]]))
    drawn = serve_scores(scores, policy, serve="sampled")
    assert drawn.weights(DCG)[one[-1]] == pytest.approx(1.0, abs=1e-7)


def test_queries_without_scores_are_served_by_production():
    policy = production()
    scores = np.where(OWNERS == LONG, 1.0, np.nan)
    served = serve_scores(scores, policy, serve="sorted")
    same = OWNERS != LONG
    assert np.array_equal(served.weights(DCG)[same], policy.weights(DCG)[same])
    assert not np.array_equal(served.weights(DCG)[~same], policy.weights(DCG)[~same])


def test_ties_stand_in_productions_order():
    policy = production()
    served = serve_scores(np.zeros(DATA.n_documents), policy, serve="sorted")
    sorted_ = reference_policies(policy)["production, sorted"]
    assert np.array_equal(served.weights(DCG), sorted_.weights(DCG))


def test_a_production_that_is_counted_has_an_order_too():
    ranks = PlackettLuce().rank_distribution(production().scores, DATA.lists, 2)
    counted = CountedPolicy(DATA, ranks)
    served = serve_scores(np.zeros(DATA.n_documents), counted, serve="sorted")
    first = served.weights(np.array([1.0, 0.0])) > 0
    expected = counted.weights(np.array([1.0, 1 / np.log2(3)]))
    for query in range(DATA.n_queries):
        mine = query == OWNERS
        assert expected[mine & first][0] == expected[mine].max()


def test_production_as_a_candidate_changes_nothing():
    policy = production()
    assert np.array_equal(unchanged(policy).weights(DCG), policy.weights(DCG))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            [{"query": "no", "document": "such", "score": 1}],
            "none of its 1 rows .* it has query 'no' and document 'such', the log has query .*; "
            "expected the query and document ids that were ingested",
        ),
        (
            [{"query": str(DATA.document_ids[0]), "document": str(DATA.query_ids[0]), "score": 1}],
            "none of its 1 rows .*; query and document look swapped",
        ),
        (
            [{"query": "0", "document": "d", "position": 1, "click": 0}],
            "looks like a click log: it has the column 'click'",
        ),
        (
            [{"query": "0", "document": "d", "bm25": 1.5, "age": 3}],
            "which column is the score.*2 columns have numbers, as in a table of features; name it "
            "with --score-column",
        ),
        ([{"query": "0", "document": "d", "score": "much"}], "a score that is no finite number"),
        (
            [{"query": "0", "document": "d", "score": s} for s in (1, 2)],
            "two different scores",
        ),
        (
            [{"query": "0", "document": "d"}],
            "which column is the score.*; name it with --score-column",
        ),
    ],
)
def test_tables_that_cannot_be_used(tmp_path, table, words):
    with pytest.raises(DataError, match=words):
        read_candidate(write(tmp_path / "s.jsonl", table), DATA)


def test_a_table_without_rows(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("query,document,score\n")
    with pytest.raises(DataError, match=r"s\.csv: has no rows"):
        read_candidate(path, DATA)


def test_the_only_column_with_numbers_is_the_score_and_is_named(tmp_path):
    lines = [
        f"{query},{document},shop,{place}"
        for place, (query, document) in enumerate(
            zip(DATA.query_ids[DATA.lists.owners], DATA.document_ids, strict=True)
        )
    ]
    path = tmp_path / "s.csv"
    path.write_text("\n".join(["query,document,source,bm25", *lines]) + "\n")
    given = read_candidate(path, DATA)
    assert not given.ranked and np.array_equal(given.scores, np.arange(DATA.n_documents))
    assert "The scores are those of the column 'bm25'" in " ".join(given.report.sentences())


@pytest.mark.parametrize("other", [{"age": 3}, {"score": 4.0}, {"rank": 2}, {"click": 1}], ids=str)
def test_the_score_column_can_be_named(tmp_path, other):
    scores = np.arange(DATA.n_documents) / 2
    table = [{**row, **other} for row in rows(scores, "bm25")]
    path = write(tmp_path / "s.jsonl", table)
    found = read_candidate(path, DATA, score_column="bm25")
    assert not found.ranked and found.report.guessed == ""
    np.testing.assert_array_equal(found.scores, scores)
    with pytest.raises(DataError, match=r"has no column 'bm52' \(--score-column\).*mean 'bm25'"):
        read_candidate(path, DATA, score_column="bm52")
