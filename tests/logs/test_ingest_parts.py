"""Guards the parts of a log: training, validation and test, and interactions that are kept."""

import numpy as np
import pytest

from cltr.errors import DataError, UsageError
from cltr.logs.log_file import open_log
from cltr.logs.readers import LongReader
from cltr.logs.splitting import Split
from cltr.logs.stored_sessions import read_sessions
from cltr.types import LOG_PARTS
from tests import plain_logs
from tests.counting import count_log
from tests.logs.ingesting import MANY, ingest
from tests.plain_logs import rows, write_csv


def split_sessions(path, **split):
    """Which part of the log each session is in."""
    out = path.with_name("split.h5")
    reader = LongReader(context_columns=["session"], user_column="query", time_column="position")
    ingest(path, out=out, reader=reader, sessions=True, split=Split(**split))
    found = {}
    for name in open_log(out).statistics:
        for chunk in read_sessions(out, name):
            found |= dict.fromkeys(chunk.context["context_session"].tolist(), name)
    return found


def test_the_split_is_by_session_and_seed(tmp_path):
    path = write_csv(tmp_path / "log.csv", MANY)
    first = split_sessions(path, seed=3)
    assert len(first) == 60
    assert first == split_sessions(path, seed=3)
    assert first != split_sessions(path, seed=4)
    assert 0 < sum(name == "valid" for name in first.values()) < 30


def test_users_are_not_split(tmp_path):
    table = [row | {"query": f"u{int(row['session'][1:]) % 12}"} for row in MANY]
    found = split_sessions(
        write_csv(tmp_path / "log.csv", table), by="user", share=0.3, test_share=0.3
    )
    users = {}
    for session, name in found.items():
        assert users.setdefault(int(session[1:]) % 12, name) == name
    assert set(users.values()) == set(LOG_PARTS)


def test_the_last_may_be_for_validation(tmp_path):
    table = [row | {"when": int(row["session"][1:])} for row in MANY]
    path = plain_logs.write_jsonl(tmp_path / "log.jsonl", table)
    reader = LongReader(time_column="when")
    out = tmp_path / "log.h5"
    split = Split(share=0.25, by="time", test_share=0.0)
    report, log = ingest(path, reader=reader, sessions=True, split=split)
    assert report["n_interactions"] == {"train": 45, "valid": 15}
    times = [float(t) for chunk in read_sessions(out, "valid") for t in chunk.context["time"]]
    assert min(times) == 45.0
    assert log.description["interactions"]["time"] == {"train": [0.0, 44.0], "valid": [45.0, 59.0]}


def test_validation_may_come_from_other_files(tmp_path):
    other = rows((("a", "x"), ("x",)), (("x", "b"), ()), query="new")
    other = [row | {"session": "v" + row["session"]} for row in other]
    paths = write_csv(tmp_path / "t.csv", MANY), write_csv(tmp_path / "v.csv", other)
    report, log = ingest(paths[0], valid=[paths[1]])
    assert report["n_interactions"] == {"train": 60, "valid": 2}
    assert log.statistics["valid"].displays.tolist() == [2, 0]
    assert log.lists.query_ids.tolist() == ["new", "q"]


def test_splitting_by_what_is_not_there_is_refused(tmp_path):
    path = write_csv(tmp_path / "log.csv", MANY)
    for by in ("user", "time"):
        with pytest.raises(UsageError, match=f"--split-by {by} needs to know .*--{by}-column"):
            ingest(path, split=Split(by=by))


def test_nothing_for_validation_is_refused(tmp_path):
    with pytest.raises(DataError, match="no valid interactions; give another --valid-share"):
        ingest(write_csv(tmp_path / "log.csv", MANY[:3]))


def test_interactions_are_kept_with_their_context(tmp_path):
    table = [row | {"device": "phone" if row["session"] < "s3" else "é", "row": 7} for row in MANY]
    path = plain_logs.write_jsonl(tmp_path / "log.jsonl", table)
    reader = LongReader(context_columns=["device", "row", "session"])
    _, log = ingest(path, reader=reader, sessions=True)
    for split, part in log.statistics.items():
        chunks = list(read_sessions(tmp_path / "log.h5", split))
        again = count_log(chunks, log.lists.offsets)
        for name in ("impressions", "clicks", "displays"):
            np.testing.assert_array_equal(getattr(again, name), getattr(part, name))
        for chunk in chunks:
            sessions = chunk.context["context_session"]
            assert chunk.context["device"].tolist() == [
                "phone" if s < "s3" else "é" for s in sessions
            ]
            assert set(chunk.context["row"].tolist()) == {"7"}


def test_gaps_are_empty_ranks_of_interactions(tmp_path):
    table = [row for row in MANY if not (row["session"] == "s3" and row["position"] == 2)]
    ingest(write_csv(tmp_path / "log.csv", table), sessions=True)
    chunks = [c for split in LOG_PARTS for c in read_sessions(tmp_path / "log.h5", split)]
    lists = [row for chunk in chunks for row in chunk.documents.tolist()]
    assert sum(row == [0, -1, 2] for row in lists) == 1
