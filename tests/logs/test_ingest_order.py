"""Guards ingestion in pieces: the order of rows, chunks and hashes change no count, ids stay."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.errors import DataError
from cltr.files.row_batches import batches
from cltr.logs.stored_sessions import read_sessions
from tests import plain_logs
from tests.counting import count_log
from tests.logs.ingesting import FEW, MANY, found, ingest, refused
from tests.plain_logs import count, counted, rows, write_csv


@pytest.mark.parametrize("order", ["as written", "backwards", "by position", "shuffled"])
@pytest.mark.parametrize("chunk", [7, 1_000_000])
def test_the_order_of_rows_does_not_matter(tmp_path, monkeypatch, order, chunk):
    monkeypatch.setattr("cltr.logs.counting.LOG_ROWS_AT_ONCE", chunk)
    monkeypatch.setattr("cltr.logs.interactions.ROWS_READ_AT_ONCE", chunk)
    table = {
        "as written": MANY,
        "backwards": MANY[::-1],
        "by position": sorted(MANY, key=lambda row: row["position"]),
        "shuffled": [MANY[i] for i in np.random.default_rng(0).permutation(len(MANY))],
    }[order]
    report, log = ingest(write_csv(tmp_path / "log.csv", table), sessions=True)
    whole = ingest(write_csv(tmp_path / "all.csv", MANY), out=tmp_path / "all.h5")[1]
    assert report["problems"] == []
    for split, part in whole.statistics.items():
        for name in ("impressions", "clicks", "displays"):
            np.testing.assert_array_equal(getattr(log.statistics[split], name), getattr(part, name))
        again = count_log(read_sessions(tmp_path / "log.h5", split), log.lists.offsets)
        np.testing.assert_array_equal(again.clicks, part.clicks)


@pytest.mark.parametrize("order", [1, -1], ids=["in order", "backwards"])
def test_rows_flow_from_parquet_in_small_chunks(tmp_path, monkeypatch, order):
    monkeypatch.setattr("cltr.logs.counting.LOG_ROWS_AT_ONCE", 8)
    monkeypatch.setattr("cltr.logs.counting.batches", small_batches)
    table = sorted(MANY, key=lambda row: order * row["position"]) if order < 0 else MANY
    report, log = ingest(plain_logs.write_parquet(tmp_path / "log.parquet", table))
    impressions, clicks, displays, _ = count(MANY)
    assert counted(log) == (impressions, Counter({k: n for k, n in clicks.items() if n}), displays)
    assert report["problems"] == []


def small_batches(*args):
    """Batches of 1 to 12 rows, so that interactions are cut and chunks overflow."""
    for batch in batches(*args):
        sizes, start = itertools.cycle([5, 12, 1]), 0
        while start < len(batch["key"]):
            stop = start + next(sizes)
            yield {name: values[start:stop] for name, values in batch.items()}
            start = stop


@FEW
@given(st.integers(0, 10**6), st.integers(0, 255))
def test_a_damaged_parquet_file_is_a_log_or_one_clear_line(tmp_path_factory, at, byte):
    path = tmp_path_factory.mktemp("damaged") / "log.parquet"
    plain_logs.write_parquet(path, MANY)
    content = bytearray(path.read_bytes())
    content[at % len(content)] = byte
    path.write_bytes(content)
    refused(path)


def test_sessions_that_are_all_the_same_are_a_conflict(tmp_path, monkeypatch):
    monkeypatch.setattr("cltr.logs.counting.LOG_ROWS_AT_ONCE", 50)
    table = [row | {"session": "s"} for row in MANY] + rows(*([(("a", "b"), ("a",))] * 30))
    path = write_csv(tmp_path / "log.csv", table)
    with pytest.raises(DataError, match="rows that repeat another row"):
        ingest(path)
    report, log = ingest(path, on=["repeated-rows=drop", "conflicts=drop"])
    assert counted(log)[2] == Counter({"q": 30})
    assert found(report)["conflicts"] == 1 and found(report)["repeated-rows"] > 100


@pytest.mark.parametrize("bits", [5, 9, 12])
def test_hashes_that_two_things_share_are_noticed(tmp_path, monkeypatch, bits):
    """With few bits they do; either other hashes are found, or it is said that there are none."""
    monkeypatch.setattr("cltr.logs.id_coding.Tally.hash_bits", bits)
    path = write_csv(tmp_path / "log.csv", MANY)
    try:
        report, log = ingest(path)
    except DataError as error:
        assert "too many queries and documents to tell apart" in str(error)
        assert bits < 12
    else:
        assert report["problems"] == []
        impressions, _, displays, _ = count(MANY)
        assert counted(log)[0] == impressions and counted(log)[2] == displays


def test_interactions_that_begin_below_the_first_rank_count(tmp_path):
    table = [row for row in MANY if not (row["session"] == "s3" and row["position"] == 1)]
    assert sum(counted(ingest(write_csv(tmp_path / "log.csv", table))[1])[2].values()) == 60


def test_fewer_ranks_may_be_kept(tmp_path):
    report, log = ingest(write_csv(tmp_path / "log.csv", MANY), top_k=2)
    assert log.statistics["train"].top_k == 2
    assert found(report) == {"beyond-top-k": 40}
    assert all(rank <= 2 for _, _, rank in counted(log)[0])


def test_ids_stay_what_they_are(tmp_path):
    """Numbers in text are not numbers: 1, 1.0 and 01 are three sessions."""
    table = [
        {"session": s, "query": "1", "position": 1, "doc": d, "click": int(s != "01")}
        for s in ("1", "1.0", "01", "1e0", " 1")
        for d in ["007"]
    ] * 1
    table += [dict(row, session=f"t{i}") for i, row in enumerate(table * 6)]
    log = ingest(write_csv(tmp_path / "log.csv", table))[1]
    assert sum(counted(log)[2].values()) == 35
    assert log.lists.document_ids.tolist() == ["007"]


def test_zero_is_an_id_as_any_other(tmp_path):
    """In a file with types; there the hash of two zeros is zero."""
    table = [
        {"session": s, "query": q, "position": p, "doc": d, "click": int(d == 0)}
        for s in range(40)
        for q in (0, 7)
        for p, d in enumerate((0, 1), start=1)
    ]
    report, log = ingest(plain_logs.write_parquet(tmp_path / "log.parquet", table))
    assert report["problems"] == []
    assert counted(log)[0]["0", "0", 1] == counted(log)[1]["0", "0", 1] == 40
    assert counted(log)[2] == Counter({"0": 40, "7": 40})


def test_production_may_score_documents_whose_ids_are_no_numbers(tmp_path):
    table = [row | {"query": 1, "doc": ord(row["doc"])} for row in MANY]
    path = plain_logs.write_parquet(tmp_path / "log.parquet", table)
    scores = tmp_path / "scores.csv"
    scores.write_text("query,document,score\n1,97,1\n1,98,2\n1,99,3\n1,new,4\n")
    log = ingest(path, production=scores)[1]
    assert dict(zip(log.lists.document_ids.tolist(), log.scores, strict=True)) == {
        "97": 1, "98": 2, "99": 3, "new": 4
    }  # fmt: skip
    assert sum(counted(log)[0].values()) == len(MANY)
