"""Guards logs in memory: files and data frames of any kind become the same interactions."""

import numpy as np
import pytest

from cltr.data.dataset_file import save_dataset
from cltr.data.loading import open_dataset
from cltr.errors import DataError, UsageError
from cltr.logs.in_memory import read_log
from cltr.logs.ingest import LogSource, ingest_log
from cltr.logs.log_file import read_statistics
from cltr.logs.readers import LongReader
from cltr.testing import tiny_dataset
from cltr.types import ClickLog, ClickStatistics
from tests.plain_logs import WRITERS, rows, write_parquet

TABLE = rows(*([(("a", "b", "c"), ("a",)), (("b", "a"), ()), (("c", "a", "b"), ("a", "b"))] * 9))
COLUMNS = {name: np.array([row[name] for row in TABLE]) for name in TABLE[0]}


def assert_is_the_table(log: ClickLog) -> None:
    ids = log.lists.document_ids
    shown = [[str(ids[d]) for d in row if d >= 0] for row in log.documents]
    assert shown == [["a", "b", "c"], ["b", "a"], ["c", "a", "b"]] * 9
    assert log.clicks.tolist() == [
        [True, False, False], [False, False, False], [False, True, True]
    ] * 9  # fmt: skip
    assert log.lists.query_ids[log.queries].tolist() == ["q"] * 27


@pytest.mark.parametrize("kind", WRITERS)
def test_files_of_every_kind(tmp_path, kind):
    assert_is_the_table(read_log(WRITERS[kind](tmp_path / f"log.{kind}", TABLE)))


@pytest.mark.parametrize("library", ["numpy", "pandas", "polars", "pyarrow"])
def test_data_frames_of_every_kind(library):
    module = pytest.importorskip(library)
    make = {"numpy": dict, "pyarrow": getattr(module, "table", None)}
    frame = make.get(library, getattr(module, "DataFrame", None))(COLUMNS)
    assert_is_the_table(read_log(frame))


def test_columns_are_named_and_kept():
    frame = {("q" if name == "query" else name): column for name, column in COLUMNS.items()}
    frame["device"] = np.array(["phone", "desk"] * (len(TABLE) // 2))
    log = read_log(frame, query_column="q", context_columns=["device"])
    assert len(log.context["device"]) == len(log) == 27


def test_statistics_are_those_of_the_log_file(tmp_path):
    path = write_parquet(tmp_path / "log.parquet", TABLE)
    ingest_log(LogSource([path], LongReader()), tmp_path / "log.h5")
    train, valid, test = (
        read_statistics(tmp_path / "log.h5", split=split) for split in ("train", "valid", "test")
    )
    whole = ClickStatistics.from_log(read_log(path))
    for name in ("impressions", "clicks", "displays"):
        np.testing.assert_array_equal(getattr(train + valid + test, name), getattr(whole, name))


def test_statistics_of_days_on_one_data_set_add_up(tmp_path):
    save_dataset(tiny_dataset(), tmp_path / "data.h5")
    data = open_dataset(tmp_path / "data.h5")
    ids = data.document_ids[: data.offsets[1]].tolist()
    query = str(data.query_ids[0])
    days = [rows((ids, ids[:1]), (ids[::-1], ()), query=query), rows((ids, ids), query=query)]
    paths = [write_parquet(tmp_path / f"{i}.parquet", day) for i, day in enumerate(days)]
    first, second = (ClickStatistics.from_log(read_log(path, dataset=data)) for path in paths)
    total = first + second
    assert total.n_interactions == 3
    assert total.impressions[: len(ids)].sum() == 3 * len(ids)
    assert total.clicks[0, 0] == 2


@pytest.mark.parametrize("frame", [5, [1, 2], "no frame"])
def test_what_is_no_data_frame_is_one_line(frame):
    with pytest.raises((UsageError, DataError)) as raised:
        read_log(frame)
    assert "\n" not in str(raised.value)


def test_what_is_wrong_is_refused_or_dropped_as_asked():
    frame = {name: np.append(column, column[-1]) for name, column in COLUMNS.items()}
    cleaned = ClickStatistics.from_log(read_log(frame, on=["repeated-rows=drop"]))
    whole = ClickStatistics.from_log(read_log(COLUMNS))
    np.testing.assert_array_equal(cleaned.impressions, whole.impressions)
    with pytest.raises(DataError, match="data frame: rows that repeat another row"):
        read_log(frame)
    del frame["session"]
    with pytest.raises(DataError, match=r"which column is the session\?.*--session-column"):
        read_log(frame)
