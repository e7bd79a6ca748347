"""Guards what cannot be a data set: tables and options are refused in one line, nothing is left."""

import numpy as np
import pandas as pd
import pytest

from cltr.data.frames import read_dataset
from cltr.data.importing import import_dataset
from cltr.errors import CltrError, DataError, UsageError
from tests.data.feature_tables import columns, wide, write

REFUSED = {
    "text": ({"x": ["a", "b", "1", "2", "3"]}, "but 'x' holds text, such as 'a' in 'x'; encode"),
    "several texts": ({"x": list("abcde"), "n": list("abcde")}, "'x', 'n' hold text"),
    "text label": ({"label": list("abcde")}, "'label' holds text"),
    "infinite": ({"x": [0, np.inf, 0, 0, 0]}, "1 of 6 values of feature 'x' are infinite or too"),
    "place": ({"x": [0, -np.inf, 0, 0, 0]}, "the first of query 'red shoes', document 'a'"),
    "too large": (
        {"x": [0, 0, 1e39, 0, 0]},
        "of query 'tea & cup', document 'c'; expected at most",
    ),
    "missing": ({"x": [0, None, 0, 0, 0]}, "values of feature 'x' are missing"),
    "missing in two": (
        {"x": [0, None, 0, 0, 0], "n": [0, 0, np.nan, 0, 0]},
        "so are values of 'n'; fill them in, or say --missing zero to take them as 0",
    ),
    "twice": ({"document": list("bbcab")}, "document 'b' comes 2 times for query 'red shoes'"),
    "no query": ({"query": ["a", None, "b", "b", "b"]}, "1 of 6 rows have no query, the first of"),
    "no document": ({"document": ["a", None, "b", "c", "d"]}, "1 of 6 rows have no document"),
    "negative label": ({"label": [0, 1, -1, 0, 0]}, "label -1 of query 'tea & cup', document 'c'"),
    "infinite label": ({"label": [0, 1, np.inf, 0, 0]}, "label inf of query 'tea & cup'"),
    "two splits": (
        {"split": ["train", "valid", "valid", "valid", "valid"]},
        "query 'red shoes' is in 'train' and in 'valid' (column 'split')",
    ),
    "unknown split": (
        {"split": ["train", "train", "holdout", "holdout", "holdout"]},
        "split 'holdout'; expected train, valid or test",
    ),
    "some split": ({"split": ["train", None, "valid", "valid", "valid"]}, "rows without a split"),
    "no training": ({"split": ["valid"] * 5}, "no query is for training"),
    "time": ({"x": pd.date_range("2020-01-01", periods=5)}, "'x (timestamp)' is not; turn times"),
    "lists": ({"x": [[1.0], [2.0], [3.0], [4.0], [5.0]]}, "'x (double[])' is not"),
    "clicks": (
        {"clicked": [0, 1, 0, 0, 0]},
        "'clicked' would become features, but the table looks like a click log",
    ),
    "nul": ({"document": ["a\0", "b", "c", "d", "e"]}, "an id contains the character NUL"),
    "long id": (
        {"document": ["a" * 1001, *"bcde"]},
        "an id has 1,001 characters; expected at most",
    ),
    "no features": ({"x": None, "n": None}, "no column is left for features"),
    "which query": (
        {"qid": [1, 2, 3, 4, 5]},
        "which column is the query? query and qid could be it",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_one_line(case):
    changes, message = REFUSED[case]
    with pytest.raises(DataError) as caught:
        read_dataset(columns(**changes))
    assert message in str(caught.value)
    assert str(caught.value).startswith("data frame: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query_column": "qury"}, "has no column 'qury' (--query-column)"),
        (
            {"feature_columns": ["y*"]},
            "no column matches 'y*' (--feature-column); there are 'x', 'n'",
        ),
        ({"leave_out": ["y"]}, "no column matches 'y' (--leave-out)"),
        ({"leave_out": ["*"]}, "no column is left for features"),
        ({"missing": "guess"}, "missing is 'guess'"),
        ({"label": "x"}, "no option 'label'"),
        ({"normalize": "l2"}, "no normalisation named 'l2'"),
    ],
)
def test_wrong_options_are_one_line(options, message):
    with pytest.raises(CltrError) as caught:
        read_dataset(columns(), **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("frame", [3, object(), {"a": [1], "b": [1, 2]}, np.zeros((2, 2)), None])
def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(UsageError, match="cannot be read as a table"):
        read_dataset(frame)


def test_tables_take_no_options_of_svmlight_and_the_other_way_round(tmp_path):
    path = write(wide(), tmp_path / "f.parquet")
    with pytest.raises(UsageError, match="--preset: can only be used with SVMlight files"):
        import_dataset([path], tmp_path / "d.h5", preset="mslr10k")
    (tmp_path / "S.txt").write_text("1 qid:1 1:2\n")
    with pytest.raises(UsageError, match="--query-column: SVMlight files have no columns"):
        import_dataset([tmp_path / "S.txt"], tmp_path / "d.h5", columns={"query_column": "q"})
    assert not (tmp_path / "d.h5").exists()


def test_nothing_is_left_behind_where_a_table_is_refused(tmp_path):
    path = write(pd.DataFrame(columns(x=[0, None, 0, 0, 0])), tmp_path / "f.parquet")
    with pytest.raises(DataError):
        import_dataset([path], tmp_path / "d.h5")
    assert [p.name for p in tmp_path.iterdir()] == ["f.parquet"]
