"""Guards the SVMlight reader: the value that a slow, plain reader gives, or one clear line."""

import gzip
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cltr.data import text_lines
from cltr.data.svmlight import read_svmlight
from cltr.errors import DataError
from tests.plain_svmlight import Refused, plain_reader

MOST_FEATURES = 50
FUZZ = settings(max_examples=max(150, settings.default.max_examples))


def read_all(path, **options):
    """The reader's blocks, joined into the same form as the plain reader's documents."""
    documents, query = [], None
    for rows in read_svmlight(path, most_features=MOST_FEATURES, **options):
        begins = {q.row: q for q in rows.queries}
        value_ends, id_ends = np.cumsum(rows.counts), np.cumsum(rows.id_lengths)
        for row, label in enumerate(rows.labels):
            query = begins.get(row, query)
            values = slice(value_ends[row] - rows.counts[row], value_ends[row])
            ids = slice(id_ends[row] - rows.id_lengths[row], id_ends[row])
            features = dict(zip(rows.columns[values] + 1, rows.values[values], strict=True))
            documents.append((label, query.id, features, rows.id_bytes[ids].tobytes()))
    return documents


def check_against_plain_reader(path, data):
    path.write_bytes(data)
    try:
        expected = plain_reader(data, most_features=MOST_FEATURES)
    except Refused as refused:
        (line,) = refused.args
        with pytest.raises(DataError) as caught:
            read_all(path)
        message = str(caught.value)
        assert "\n" not in message
        assert message.startswith(f"{path}:{line}: " if line else f"{path}: ")
        return
    found = read_all(path)
    assert len(found) == len(expected)
    for (label, query, features, name), (_, label2, query2, features2, name2) in zip(
        found, expected, strict=True
    ):
        assert (label, name) == (label2, name2)
        assert query == query2.decode("utf-8", "backslashreplace")
        assert features == {column: value for column, value in features2.items() if value != 0}


numbers = st.one_of(
    st.integers(0, 9).map(lambda n: b"%d" % n),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: repr(x).encode()),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: b"%.9g" % x),
    st.from_regex(rb"[+-]?[0-9]{0,25}\.?[0-9]{0,25}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
)
odd_words = st.sampled_from(
    b"nan inf -1 1e999 0x1 1_0 qid: qid:2 : 1: 0:1 3:1 51:1 99999999999999999999:1 1:nan 2:-inf "
    b"2:1:1 -1:2 \xff \0".split(b" ")
)
comments = st.sampled_from(
    b"|#|# docid = D7 inc = 1|#docid=D8|# docid:D9|# d10 more|#docid x|## \xc3\xa9|# \x01|#docid ="
    b"|# doc".split(b"|")
)
blanks = st.sampled_from([b" ", b"  ", b"\t"])


@st.composite
def good_lines(draw):
    columns = sorted(draw(st.sets(st.integers(1, MOST_FEATURES), max_size=4)))
    pairs = [b"%d:%s" % (column, draw(numbers)) for column in columns]
    query = draw(st.sampled_from([b"qid:1", b"qid:2", b"qid:a-b", b"qid:\xc3\xa9"]))
    words = [draw(st.one_of(st.sampled_from([b"0", b"4", b"+1.5"]), numbers)), query, *pairs]
    return draw(blanks).join(words) + draw(st.sampled_from([b"", b" "])) + draw(comments)


@st.composite
def odd_lines(draw):
    words = draw(good_lines()).split(b" ")
    words.insert(draw(st.integers(0, len(words))), draw(odd_words))
    return b" ".join(words)


files = st.tuples(
    st.sampled_from([b"", b"\xef\xbb\xbf", b"\n", b"# a comment\n"]),
    st.lists(
        st.one_of(good_lines(), good_lines(), good_lines(), odd_lines(), st.just(b""), comments),
        max_size=6,
    ),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
).map(lambda parts: parts[0] + parts[2].join(parts[1]) + (parts[2] if parts[3] else b""))


@FUZZ
@given(data=files, block=st.integers(3, 60))
@example(data=b"1 qid:1 1:0.5", block=3)
@example(data=b"1 qid:1 1:" + b"9" * 400 + b"\n", block=100)
@example(data=b"0." + b"1" * 500 + b" qid:1 1:1e-400\n", block=100)
def test_same_as_the_plain_reader(data, block):
    with TemporaryDirectory() as folder, mock.patch.object(text_lines, "BLOCK", block):
        check_against_plain_reader(Path(folder) / "file.txt", data)


@FUZZ
@given(data=st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data):
    with TemporaryDirectory() as folder:
        check_against_plain_reader(Path(folder) / "file.txt", data)


def hard_numbers():
    """Decimals beside the middle of two 32-bit numbers, and long ones of every size."""
    rng = np.random.default_rng(0)
    for low in rng.lognormal(0, 10, 500).astype(np.float32):
        high = np.nextafter(low, np.float32(np.inf))
        middle = (Decimal(float(low)) + Decimal(float(high))) / 2
        yield from (
            format(middle * (1 + Decimal(shift)), "f") for shift in ("0", "1e-17", "-1e-17")
        )
        yield from (f"{float(middle) * (1 + ulps * 2.0**-52):.17g}" for ulps in (-1, 0, 1))
    for exponent in rng.integers(-60, 36, 500):
        yield f"{rng.random():.20f}e{exponent}"
        yield f"{rng.integers(2**62)}e{exponent - 25}"


def test_numbers_are_those_of_python(tmp_path):
    words = list(hard_numbers())
    path = tmp_path / "numbers.txt"
    path.write_text("".join(f"{word} qid:1 1:{word}\n" for word in words))
    found = list(read_svmlight(path))
    labels = np.concatenate([rows.labels for rows in found])
    features = {
        int(row): value
        for rows in found
        for row, value in zip(np.flatnonzero(rows.counts), rows.values, strict=True)
    }
    assert labels.tolist() == [float(word) for word in words]
    expected = np.array([float(word) for word in words]).astype(np.float32)
    assert features == {row: value for row, value in enumerate(expected) if value}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"x qid:1 1:2", "label 'x'; expected a number, 0 or more"),
        (b"-1 qid:1 1:2", "label '-1' is negative; expected 0 or more"),
        (b"1e999 qid:1", "label inf; expected a finite number"),
        (b"1 1:2", "found '1:2' in place of 'qid:'"),
        (b"1 qid: 1:2", "query id 'qid:'; expected 'qid:' and a printable word"),
        (b"1 qid:1 1:2 two", "found 'two'; expected 'number:value'"),
        (b"1 qid:1 0:2", "feature '0:2'; expected numbers from 1"),
        (b"1 qid:1 51:2", "feature '51:2'; expected numbers up to 50"),
        (b"1 qid:1 2:1 2:1", "feature '2:1' does not follow on the one before it"),
        (b"1 qid:1 2:1 1:1", "feature '1:1' does not follow on the one before it"),
        (b"1 qid:1 1:nan", "feature '1:nan' is not finite"),
        (b"1 qid:1 1:-Infinity", "feature '1:-Infinity' is not finite"),
        (b"1 qid:1 1:abc", "feature '1:abc'; expected 'number:value' with a finite decimal"),
        (b"1 qid:1 1:1e39", "feature '1:1e39' is too large; expected at most 3.4e38"),
        (b"\x7fELF\x02\x01\0\0", "label '\\x7fELF\\x02\\x01\\x00\\x00'; expected a number"),
    ],
)
def test_bad_line_is_named(tmp_path, line, message):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"0 qid:1 1:1\n\n" + line + b"\n0 qid:1 1:1\n")
    with pytest.raises(DataError) as caught:
        read_all(path)
    assert str(caught.value).startswith(f"{path}:3: {message}")


def test_qid_after_lines_without_is_refused(tmp_path):
    path = tmp_path / "mixed.txt"
    path.write_bytes(b"0 1:1\n0 qid:1 1:1\n")
    (tmp_path / "mixed.txt.query").write_bytes(b"2\n")
    with pytest.raises(DataError, match=r"mixed.txt:2: found 'qid:1', but earlier lines have no"):
        read_all(path)


def test_huge_values_can_count_as_missing(tmp_path):
    path = tmp_path / "istella.txt"
    path.write_bytes(b"0 qid:1 1:179769313486231570000" + b"0" * 288 + b" 2:1.79769e+308 3:7\n")
    (rows,) = read_svmlight(path, huge_is_missing=True)
    assert (rows.values.tolist(), rows.columns.tolist()) == ([7.0], [2])
    assert (rows.n_missing, rows.n_features) == (2, 3)


def test_zeros_count_as_features_but_are_not_stored(tmp_path):
    path = tmp_path / "zeros.txt"
    path.write_bytes(b"0 qid:1 1:1 9:0.000\n")
    (rows,) = read_svmlight(path)
    assert rows.n_features == 9
    assert rows.columns.tolist() == [0]


def test_gzip_reads_as_its_text(tmp_path):
    text = b"".join(b"1 qid:%d 1:0.5 3:%d # d%d\n" % (n // 7, n, n) for n in range(1000))
    (tmp_path / "plain.txt").write_bytes(text)
    (tmp_path / "packed").write_bytes(gzip.compress(text[:5000]) + gzip.compress(text[5000:]))
    assert read_all(tmp_path / "packed") == read_all(tmp_path / "plain.txt")


@pytest.mark.parametrize("size", [3, 20, 500, -1])
def test_cut_gzip_is_refused(tmp_path, size):
    path = tmp_path / "cut.gz"
    packed = gzip.compress(b"".join(b"1 qid:1 1:%d\n" % (n * n) for n in range(500)))
    path.write_bytes(packed[:size])
    with pytest.raises(DataError, match=r"cut.gz: the gzip file is cut off"):
        read_all(path)


def test_damaged_gzip_is_refused(tmp_path):
    path = tmp_path / "bad.gz"
    packed = bytearray(gzip.compress(b"1 qid:1 1:0.25\n" * 50))
    packed[-6] ^= 1
    path.write_bytes(packed)
    with pytest.raises(DataError, match=r"bad.gz: the gzip file is damaged"):
        read_all(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "the file is empty"), (b"\n# nothing\n", "the file holds only comments")],
)
def test_file_without_documents_is_refused(tmp_path, data, message):
    path = tmp_path / "none.txt"
    path.write_bytes(data)
    with pytest.raises(DataError, match=f"none.txt: {message}; expected"):
        read_all(path)


def test_line_without_end_is_refused(tmp_path):
    path = tmp_path / "long.txt"
    path.write_bytes(b"1" * 5000)
    with (
        mock.patch.object(text_lines, "BLOCK", 64),
        mock.patch.object(text_lines, "LONGEST_LINE", 1000),
        pytest.raises(DataError, match=r"long.txt: a line is longer than 1000 bytes"),
    ):
        read_all(path)


@pytest.mark.parametrize("name", ["missing.txt", ""])
def test_missing_file_and_folder_are_refused(tmp_path, name):
    with pytest.raises(DataError, match=r"no such file|is a folder"):
        read_all(tmp_path / name)


def test_sidecar_gives_the_lists(tmp_path):
    (tmp_path / "rank.train").write_bytes(b"1 1:1\n0 2:1\n\n0 1:3\n")
    (tmp_path / "rank.train.query").write_bytes(b"2\r\n\n1\n")
    with mock.patch.object(text_lines, "BLOCK", 8):
        blocks = list(read_svmlight(tmp_path / "rank.train"))
    queries = [(q.line, q.id) for rows in blocks for q in rows.queries]
    assert queries == [(1, None), (3, None)]
    assert [len(rows.queries) for rows in blocks] == [1, 0, 1]


@pytest.mark.parametrize(
    ("sidecar", "message"),
    [
        (None, "the lines have no qid, and there is no 'rank.query'"),
        (b"1\n", "the lists add up to 1 documents; expected the 2 of rank.gz"),
        (b"2\n1\n", "the lists add up to 3 documents; expected the 2 of rank.gz"),
        (b"", "the lists add up to 0 documents"),
        (b"1\n0\n1\n", "rank.query:2: found '0'; expected a length, 1 or more"),
        (b"1\nx\n", "rank.query:2: found 'x'; expected a length"),
        (b"99999999999999999999\n", "expected a length"),
    ],
)
def test_sidecar_must_fit(tmp_path, sidecar, message):
    (tmp_path / "rank.gz").write_bytes(gzip.compress(b"1 1:1\n0 2:1\n"))
    if sidecar is not None:
        (tmp_path / "rank.query").write_bytes(sidecar)
    with pytest.raises(DataError) as caught:
        list(read_svmlight(tmp_path / "rank.gz"))
    assert message in str(caught.value)


def test_progress_ends_at_the_size_of_the_file(tmp_path):
    path = tmp_path / "file.txt"
    path.write_bytes(b"1 qid:1 1:1\n" * 100)
    seen = []
    with mock.patch.object(text_lines, "BLOCK", 200):
        read_all(path, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == path.stat().st_size
