"""Guards TREC files: what is written is read back, and a line that does not fit is named."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.errors import DataError
from cltr.files.trec import is_run, read_qrels, read_run, write_qrels, write_run

IDS = (np.array(["q1", "tea"]), np.array(["a", "b", "c", "a"]), np.array([0, 3, 4]))


def test_a_run_is_written_by_falling_score(tmp_path):
    path = tmp_path / "run.trec"
    write_run(path, *IDS, np.array([0.5, 2.0, 0.5, -1e-300]), tag="mine")
    assert path.read_text() == (
        "q1 Q0 b 1 2.0 mine\nq1 Q0 a 2 0.5 mine\nq1 Q0 c 3 0.5 mine\ntea Q0 a 1 -1e-300 mine\n"
    )
    write_run(path, *IDS, np.array([0.5, 2.0, 0.5, 7.0]), top_k=1)
    assert path.read_text() == "q1 Q0 b 1 2.0 cltr\ntea Q0 a 1 7.0 cltr\n"


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=4, max_size=4))
def test_law_scores_are_read_back_to_the_last_bit(tmp_path_factory, scores):
    path = tmp_path_factory.mktemp("trec") / "run.trec"
    write_run(path, *IDS, np.array(scores))
    found = read_run(path)
    pairs = dict(zip(zip(found.queries, found.documents, strict=True), found.values, strict=True))
    assert pairs == dict(
        zip([("q1", "a"), ("q1", "b"), ("q1", "c"), ("tea", "a")], scores, strict=True)
    )


def test_qrels_are_read_back_and_unjudged_documents_are_left_out(tmp_path):
    path = tmp_path / "qrels.txt"
    write_qrels(path, *IDS, np.array([2.0, np.nan, 0.5, 0.0]))
    assert path.read_text() == "q1 0 a 2\nq1 0 c 0.5\ntea 0 a 0\n"
    found = read_qrels(path)
    assert (found.queries, found.documents) == (["q1", "q1", "tea"], ["a", "c", "a"])
    assert found.values == [2, 0.5, 0]


def test_tabs_blank_lines_gzip_and_negative_grades(tmp_path):
    path = tmp_path / "qrels.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfq1\t0\ta\t-2\r\n\r\n  q1 0 b   1\n"))
    assert read_qrels(path).values == [0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q 0 d\n", ":1: 3 fields; expected 'query 0 document grade'"),
        ("q 0 d 1\nq 0 e f 1\n", ":2: 5 fields"),
        ("q 0 d 1\n\nq 0 e x\n", ":3: grade 'x'"),
        ("q 0 d nan\n", ":1: grade 'nan'"),
        ("q 0 d inf\n", ":1: grade 'inf'"),
        ("q 0 d 1e999\n", ":1: grade '1e999'"),
        ("q 0 d 1_0\n", ":1: grade '1_0'"),
        ("q 0 d 1\nq 1 d 2\n", ":2: document 'd' of query 'q' appears again; it is at line 1"),
        ("", ": the file is empty"),
    ],
)
def test_what_does_not_fit_is_named_by_its_line(tmp_path, text, message):
    path = tmp_path / "qrels.txt"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_qrels(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_damaged_files_are_one_line(tmp_path):
    (tmp_path / "a.run").write_bytes(b"q Q0 d 1 2.0 t\nq Q0 \xff 1 2.0 t\n")
    with pytest.raises(DataError, match=r"a\.run:2: is not UTF-8 text"):
        read_run(tmp_path / "a.run")
    (tmp_path / "b.run.gz").write_bytes(gzip.compress(b"q Q0 d 1 2.0 t\n")[:-9])
    with pytest.raises(DataError, match=r"b\.run\.gz: cannot be read"):
        read_run(tmp_path / "b.run.gz")
    with pytest.raises(DataError, match=r"none\.run: cannot be read: no such file"):
        read_run(tmp_path / "none.run")


def test_ids_with_spaces_and_scores_that_rank_nothing_are_refused(tmp_path):
    queries, documents, offsets = IDS
    with pytest.raises(DataError, match="cannot hold the id 'red shoes'"):
        write_run(tmp_path / "r", np.array(["red shoes", "b"]), documents, offsets, np.zeros(4))
    with pytest.raises(DataError, match="a score is not finite"):
        write_run(tmp_path / "r", queries, documents, offsets, np.array([0, 1, np.nan, 0]))
    assert list(tmp_path.iterdir()) == []


def test_runs_are_known_by_their_names(tmp_path):
    assert is_run(tmp_path / "x.trec") and is_run(tmp_path / "X.RUN.gz")
    assert not is_run(tmp_path / "scores.csv")
