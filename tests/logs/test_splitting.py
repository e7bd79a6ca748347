"""Guards the parts of a log that stands alone: each interaction is in the part it belongs to."""

from collections import Counter

import numpy as np
import pytest

from cltr.errors import DataError, UsageError
from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
from cltr.logs.log_file import open_log
from cltr.logs.readers import LongReader
from cltr.logs.splitting import Split
from cltr.logs.stored_sessions import read_sessions
from cltr.testing import tiny_dataset
from cltr.types import LOG_PARTS
from tests.counting import count_log
from tests.plain_logs import count, write_jsonl

N = 200
READER = LongReader(user_column="user", time_column="when", context_columns=["session"])
SINGLE = LongReader(session_column="none")


def table(n=N, seed=0, name="s"):
    """Interactions of some users with three queries; the later, the higher ``when``."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        shown = rng.permutation(list("abcdef"))[: rng.integers(2, 5)]
        rows += [
            {
                "session": f"{name}{i}",
                "query": f"q{i % 3}",
                "position": p,
                "doc": str(doc),
                "click": int(rng.random() < 0.4),
                "user": f"u{i % 40}",
                "when": 1000 + i,
            }
            for p, doc in enumerate(shown, start=1)
        ]
    return rows


def ingest(path, *, split=None, reader=READER, sessions=True, **files):
    out = path.with_name("log.h5")
    options = IngestOptions(split=split or Split(), sessions=sessions)
    report = ingest_log(LogSource([path], reader, **files), out, options=options)
    return report, open_log(out)


def parts_of(path):
    """The part of each session, as the interactions in the file say."""
    found = {}
    for part in open_log(path).statistics:
        for chunk in read_sessions(path, part):
            for session in chunk.context["context_session"].tolist():
                assert session not in found
                found[session] = part
    return found


def counted(log, part):
    """Impressions and clicks by (query, document, position) and displays by query, of one part."""
    lists, statistics = log.lists, log.statistics[part]
    cells = [
        (query, str(lists.document_ids[d]), k + 1, d, k)
        for q, query in enumerate(lists.query_ids.tolist())
        for d in range(lists.offsets[q], lists.offsets[q + 1])
        for k in range(statistics.top_k)
    ]
    return (
        +Counter({cell[:3]: int(statistics.impressions[cell[3:]]) for cell in cells}),
        +Counter({cell[:3]: int(statistics.clicks[cell[3:]]) for cell in cells}),
        +Counter(dict(zip(lists.query_ids.tolist(), statistics.displays.tolist(), strict=True))),
    )


def plain(rows):
    impressions, clicks, displays, _ = count(
        [
            {key: row[key] for key in ("session", "query", "position", "doc", "click")}
            for row in rows
        ]
    )
    return impressions, +clicks, displays


@pytest.mark.parametrize("sessions", [False, True], ids=["counts", "sessions"])
@pytest.mark.parametrize("order", ["in order", "shuffled", "with duplicates"])
def test_the_latest_are_for_testing_and_each_part_has_its_counts(tmp_path, order, sessions):
    """Against a plain count of the rows before, between and after two times."""
    rows = table()
    parts = {
        "train": [row for row in rows if row["when"] < 1140],
        "valid": [row for row in rows if 1140 <= row["when"] < 1180],
        "test": [row for row in rows if row["when"] >= 1180],
    }
    written = rows
    if order == "shuffled":
        written = [rows[i] for i in np.random.default_rng(1).permutation(len(rows))]
    if order == "with duplicates":
        written = rows + rows[::7]
    path = write_jsonl(tmp_path / "log.jsonl", written)
    report, log = ingest(path, split=Split(by="time"), sessions=sessions)
    assert report["n_interactions"] == {"train": 140, "valid": 40, "test": 20}
    assert report["split"] == {"by": "time", "valid_share": 0.2, "test_share": 0.1, "seed": 1}
    for part, expected in parts.items():
        assert counted(log, part) == plain(expected)
        if sessions:
            again = count_log(read_sessions(tmp_path / "log.h5", part), log.lists.offsets)
            np.testing.assert_array_equal(again.impressions, log.statistics[part].impressions)
    assert log.description["interactions"]["time"] == {
        "train": [1000, 1139], "valid": [1140, 1179], "test": [1180, 1199]
    }  # fmt: skip
    assert log.lists.splits["test"] == log.lists.splits["train"] == (0, 3)


def test_a_test_share_takes_from_training_and_never_from_validation(tmp_path):
    path, out = write_jsonl(tmp_path / "log.jsonl", table(1000)), tmp_path / "log.h5"
    found = {}
    for share in (0.0, None, 0.4):
        ingest(path, split=Split(test_share=share))
        found[share] = parts_of(out)
    valid = {session for session, part in found[0.0].items() if part == "valid"}
    for share, parts in found.items():
        assert {session for session, part in parts.items() if part == "valid"} == valid
        n = sum(part == "test" for part in parts.values())
        assert n == pytest.approx(1000 * (0.1 if share is None else share), abs=50)
    tested = {session for session, part in found[None].items() if part == "test"}
    assert tested < {session for session, part in found[0.4].items() if part == "test"}


def test_the_same_seed_gives_the_same_parts_to_the_bit(tmp_path):
    path = write_jsonl(tmp_path / "log.jsonl", table())
    first, again = (ingest(path, split=Split(seed=5))[1] for _ in range(2))
    other = ingest(path, split=Split(seed=6))[1]
    for part in LOG_PARTS:
        for name in ("impressions", "clicks", "displays"):
            mine = getattr(first.statistics[part], name)
            np.testing.assert_array_equal(mine, getattr(again.statistics[part], name))
            assert (mine != getattr(other.statistics[part], name)).any()


def test_users_are_in_one_part_each(tmp_path):
    path = write_jsonl(tmp_path / "log.jsonl", table())
    _, log = ingest(path, split=Split(by="user", share=0.3, test_share=0.3))
    parts = parts_of(tmp_path / "log.h5")
    users = {}
    for session, part in parts.items():
        assert users.setdefault(int(session[1:]) % 40, part) == part
    assert set(users.values()) == set(LOG_PARTS)
    noted = log.description["interactions"]["users"]
    assert (noted["in_both_splits"], noted["in_test_too"]) == (0, 0)


def test_users_that_are_in_several_parts_are_counted(tmp_path):
    path = write_jsonl(tmp_path / "log.jsonl", table())
    _, log = ingest(path)
    users = {}
    for session, part in parts_of(tmp_path / "log.h5").items():
        users.setdefault(int(session[1:]) % 40, set()).add(part)
    noted = log.description["interactions"]["users"]
    assert noted["in_both_splits"] == sum(parts >= {"train", "valid"} for parts in users.values())
    tested = sum("test" in parts and len(parts) > 1 for parts in users.values())
    assert noted["in_test_too"] == tested > 0


# Single impressions.


def test_single_impressions_are_split_one_by_one(tmp_path):
    path = write_jsonl(tmp_path / "log.jsonl", table(2000))
    options = {"reader": SINGLE, "sessions": False}
    report, log = ingest(path, **options)
    total = sum(report["impressions"].values())
    assert total == len(table(2000))
    assert report["impressions"]["test"] == pytest.approx(0.1 * total, rel=0.15)
    assert report["clicks"]["test"] == pytest.approx(0.1 * sum(report["clicks"].values()), rel=0.2)
    _, without = ingest(path, **options, split=Split(test_share=0.0))
    assert list(without.statistics) == ["train", "valid"]
    for name in ("impressions", "clicks"):
        np.testing.assert_array_equal(
            getattr(log.statistics["valid"], name), getattr(without.statistics["valid"], name)
        )
        rest = sum(getattr(log.statistics[part], name) for part in ("train", "test"))
        np.testing.assert_array_equal(rest, getattr(without.statistics["train"], name))


def test_single_impressions_of_a_test_file_are_its_own(tmp_path):
    paths = [
        write_jsonl(tmp_path / f"{name}.jsonl", table(n, name=name))
        for name, n in (("s", 300), ("t", 60))
    ]
    report, _ = ingest(paths[0], reader=SINGLE, sessions=False, test=[paths[1]])
    assert report["impressions"]["test"] == len(table(60))
    assert report["clicks"]["test"] == sum(row["click"] for row in table(60))
    assert report["impressions"]["train"] + report["impressions"]["valid"] == len(table(300))


# Files.


def files(tmp_path):
    return {
        name: write_jsonl(tmp_path / f"{name}.jsonl", table(n, seed, name))
        for seed, (name, n) in enumerate((("main", 100), ("valid", 30), ("test", 20)))
    }


def test_parts_may_come_from_files(tmp_path):
    paths = files(tmp_path)
    report, log = ingest(paths["main"], valid=[paths["valid"]], test=[paths["test"]])
    assert report["n_interactions"] == {"train": 100, "valid": 30, "test": 20}
    assert report["files"] == ["main.jsonl", "valid.jsonl", "test.jsonl"]
    assert report["split"]["by"] == "files" and report["notes"] == []
    assert counted(log, "test") == plain(table(20, 2, "test"))
    assert counted(log, "valid") == plain(table(30, 1, "valid"))


def test_validation_files_alone_leave_no_test_part(tmp_path):
    paths = files(tmp_path)
    report, log = ingest(paths["main"], valid=[paths["valid"]])
    assert report["n_interactions"] == {"train": 100, "valid": 30}
    assert log.lists.splits["test"] == (3, 3)
    assert report["notes"] == [
        "the log has no test part: validation files are given, and no test files (--test)"
    ]


@pytest.mark.parametrize("by", ["interaction", "user", "time"])
def test_a_test_file_alone_leaves_the_rest_to_be_split(tmp_path, by):
    paths = files(tmp_path)
    report, log = ingest(paths["main"], test=[paths["test"]], split=Split(by=by))
    assert counted(log, "test") == plain(table(20, 2, "test"))
    n = report["n_interactions"]
    assert n["train"] + n["valid"] == 100 and n["valid"] > 0
    if by == "time":
        assert counted(log, "valid") == plain([r for r in table(100) if r["when"] >= 1080])


# What cannot be.


def test_shares_must_leave_something_for_training():
    with pytest.raises(UsageError, match="leave no interactions for training"):
        Split(share=0.6, test_share=0.4)
    assert Split(share=0.95).tested == 0.025  # nobody asked for it, so it gives way


@pytest.mark.parametrize("which", ["valid", "test"])
def test_a_share_and_files_contradict_each_other(tmp_path, which):
    paths = files(tmp_path)
    with pytest.raises(UsageError, match=f"--test-share: with --{which}, no test interactions"):
        ingest(paths["main"], split=Split(test_share=0.2), **{which: [paths[which]]})


def test_too_few_interactions_for_a_test_part(tmp_path):
    path = write_jsonl(tmp_path / "log.jsonl", table(12))

    def split(seed, test_share):
        return ingest(path, split=Split(share=0.4, seed=seed, test_share=test_share))[0]

    seed = next(seed for seed in range(30) if "test" not in split(seed, None)["clicks"])
    note = "the log has no test part: interactions are too few to split some off"
    assert split(seed, None)["notes"] == [note]
    assert split(seed, 0.0)["notes"] == []
    with pytest.raises(DataError, match="no test interactions; give another --test-share"):
        split(seed, 0.1)


def test_days_are_too_coarse_for_a_test_part(tmp_path):
    """95% on one day, the rest on the next: these are for validation, as they were in 0.1.0."""
    rows = [row | {"when": int(int(row["session"][1:]) >= 190)} for row in table()]
    path = write_jsonl(tmp_path / "log.jsonl", rows)
    report, log = ingest(path, split=Split(by="time"))
    assert report["n_interactions"] == {"train": 190, "valid": 10}
    assert "times too coarse" in report["notes"][0]
    assert log.lists.splits["test"] == (3, 3)
    with pytest.raises(DataError, match="only 2 different times in the log"):
        ingest(path, split=Split(by="time", test_share=0.1))


def test_users_and_times_of_a_log_on_a_data_set_are_those_of_its_queries(tmp_path):
    """The query decides the part, so a user who asks two queries is in two parts."""
    data = tiny_dataset()
    rows, when = [], {"train": 100, "valid": 200, "test": 300}
    for split, (first, last) in data.splits.items():
        for query in range(first, last):
            name, ids = (
                data.query_ids[query],
                data.document_ids[slice(*data.offsets[query : query + 2])],
            )
            for i in range(20):
                user = "everywhere" if i == 0 else f"{split} {query} {i}"
                rows += [
                    {"session": f"{name}/{i}", "query": str(name), "position": k, "doc": str(one),
                     "click": int(k == 1), "user": user, "when": when[split] + i}
                    for k, one in enumerate(ids, start=1)
                ]  # fmt: skip
    path = write_jsonl(tmp_path / "log.jsonl", rows)
    reader = LongReader(user_column="user", time_column="when")
    ingest_log(LogSource([path], reader), tmp_path / "log.h5", dataset=data)
    noted = open_log(tmp_path / "log.h5", data).description["interactions"]
    assert (noted["users"]["in_both_splits"], noted["users"]["in_test_too"]) == (1, 1)
    assert noted["time"] == {split: [first, first + 19] for split, first in when.items()}
