"""Guards logs from elsewhere: every row is counted right, or counted as a problem; never lost."""

import itertools
import os
import signal
import time
from collections import Counter
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cltr.errors import CltrError, DataError, UsageError
from cltr.files.row_batches import batches
from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
from cltr.logs.log_file import open_log, read_sessions
from cltr.logs.problems import PROBLEMS, parse_actions
from cltr.logs.published_formats import OpenBanditReader
from cltr.logs.readers import LongReader
from cltr.logs.splitting import Split
from cltr.testing import tiny_dataset
from cltr.types import LOG_PARTS
from tests import children, plain_logs
from tests.counting import count_log
from tests.plain_logs import REAL, count, counted, rows, write_csv

needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the click logs are not there")
MANY = rows(*([(("a", "b", "c"), ("a",)), (("b", "a"), ()), (("c", "a", "b"), ("a", "b"))] * 20))


def ingest(path, *, out=None, reader=None, on=(), **options):
    """Ingest one file; its report and the log."""
    paths = [path] if isinstance(path, Path) else path
    out = out or paths[0].with_name("log.h5")
    source = LogSource(
        paths,
        reader or LongReader(),
        valid=options.pop("valid", ()),
        production=options.pop("production", None),
        test=options.pop("test", ()),
    )
    dataset = options.pop("dataset", None)
    chosen = IngestOptions(actions=parse_actions(on), **options)
    report = ingest_log(source, out, dataset=dataset, options=chosen)
    return report, open_log(out, dataset)


def found(report):
    return {row["problem"]: row["count"] for row in report["problems"]}


@pytest.mark.parametrize("kind", plain_logs.WRITERS)
def test_every_kind_of_file_gives_the_same_counts(tmp_path, kind):
    path = plain_logs.WRITERS[kind](tmp_path / f"log.{kind}", MANY)
    report, log = ingest(path)
    impressions, clicks, displays, _ = count(MANY)
    assert counted(log) == (impressions, Counter({k: n for k, n in clicks.items() if n}), displays)
    assert report["problems"] == []
    assert sum(report["n_interactions"].values()) == 60
    assert list(report["n_interactions"]) == list(LOG_PARTS)
    assert log.lists.document_ids.tolist() == ["a", "b", "c"]
    assert log.lists.query_ids.tolist() == ["q"]
    assert not log.lists.judged


def test_a_file_that_is_read_is_never_written(tmp_path):
    path = write_csv(tmp_path / "log.csv", MANY)
    before = path.read_bytes()
    with pytest.raises(UsageError, match="is also an input; choose another file"):
        ingest(path, out=tmp_path / ".." / tmp_path.name / "log.csv")
    assert path.read_bytes() == before


def test_several_files_are_one_log(tmp_path):
    half = len(MANY) // 2
    paths = [
        write_csv(tmp_path / f"{i}.csv", part) for i, part in enumerate((MANY[:half], MANY[half:]))
    ]
    apart, whole = ingest(paths)[1], ingest(write_csv(tmp_path / "all.csv", MANY))[1]
    assert counted(apart) == counted(whole)
    in_folder = ingest(tmp_path, out=tmp_path.parent / "folder.h5", on=["all=drop"])
    assert found(in_folder[0]) == {"repeated-rows": len(MANY)}
    assert counted(in_folder[1]) == counted(whole)


# Against the plain way, row by row.

FEW = settings(max_examples=max(settings().max_examples // 3, 1))
"""Each example opens a database of its own."""
IDS = st.sampled_from(["a", "b", 'c"', "d,\n", "é", " e "])
DIRTY = st.fixed_dictionaries(
    {
        "session": st.sampled_from(["s1", "s2", "s3", "s4", ""]),
        "query": st.sampled_from(["q", "Q", "q,1", ""]),
        "position": st.sampled_from([1, 1, 2, 3, 5, None]),
        "doc": IDS,
        "click": st.sampled_from([0, 0, 1]),
    }
)


ALL_DROPPED = [
    f"{name}=drop"
    for name in ("repeated-rows", "conflicts", "repeated-documents", "clicks-without-impression")
]


@FEW
@given(st.lists(DIRTY, min_size=1, max_size=25), st.sampled_from(["csv", "jsonl"]))
def test_counts_are_those_of_the_plain_way(tmp_path_factory, table, kind):
    # So that both splits have some.
    table += [
        {"session": f"t{i}", "query": "q", "position": 1, "doc": "z", "click": 0} for i in range(40)
    ]
    written = table
    if kind == "jsonl":  # an empty text is a value there
        written = [{name: None if v == "" else v for name, v in row.items()} for row in table]
    path = plain_logs.WRITERS[kind](tmp_path_factory.mktemp("dirty") / f"log.{kind}", written)
    impressions, clicks, displays, problems = count(table)
    report, log = ingest(path, on=ALL_DROPPED)
    assert found(report) == problems
    assert counted(log) == (impressions, Counter({k: n for k, n in clicks.items() if n}), displays)


@FEW
@given(st.binary(max_size=300), st.sampled_from(["csv", "tsv", "jsonl", "parquet", "csv.gz"]))
def test_any_file_is_a_log_or_one_clear_line(tmp_path_factory, content, kind):
    path = tmp_path_factory.mktemp("any") / f"log.{kind}"
    path.write_bytes(content)
    refused(path)


@FEW
@given(
    st.lists(st.lists(st.text(max_size=6), min_size=5, max_size=5), max_size=6),
    st.sampled_from([",", "\t"]),
)
def test_any_values_are_a_log_or_one_clear_line(tmp_path_factory, values, delimiter):
    name = "log.csv" if delimiter == "," else "log.tsv"
    path = tmp_path_factory.mktemp("values") / name
    table = [dict(zip(plain_logs.COLUMNS, row, strict=True)) for row in values]
    write_csv(path, table, delimiter)
    refused(path)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=6),
    st.lists(st.integers(0, 3), max_size=2),
    st.dictionaries(st.sampled_from("ab"), st.integers(0, 3), max_size=2),
)


@FEW
@given(
    st.lists(st.lists(VALUES, min_size=5, max_size=5), min_size=1, max_size=6),
    st.sampled_from(["jsonl", "parquet"]),
)
def test_any_typed_values_are_a_log_or_one_clear_line(tmp_path_factory, values, kind):
    import duckdb

    folder = tmp_path_factory.mktemp("typed")
    table = [dict(zip(plain_logs.COLUMNS, row, strict=True)) for row in values]
    try:
        path = plain_logs.WRITERS[kind](folder / f"log.{kind}", table)
    except duckdb.Error:  # no Parquet holds them
        return
    refused(path)


def refused(path):
    """Nothing but a clear line, and no file, unless it is a log after all."""
    out = path.with_name("out.h5")
    try:
        ingest(path, out=out)
    except CltrError as error:
        assert "\n" not in str(error) and str(error).startswith(str(path))
        assert not out.exists()
    else:
        open_log(out)
    assert [p for p in path.parent.iterdir() if p.name.endswith("partial")] == []


def test_line_numbers(tmp_path):
    path = write_csv(tmp_path / "log.csv", MANY)
    lines = path.read_text().splitlines()
    lines[7] = "s2,q,1,a"
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"log.csv: line 8: expected number of columns: 5 found: 4"):
        ingest(path)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            {"click": "perhaps"},
            r"clicks that are neither yes nor no.*such as row 4: query 'q', doc",
        ),
        (
            {"position": "first"},
            r"positions that are no whole number.*such as row 4.*say --on bad-",
        ),
        ({"position": "1.5"}, r"positions that are no whole number"),
        ({"position": "0"}, r"if the first position is 0, say --positions-from 0"),
        (
            {"position": "1070"},
            r"positions go up to 1,070; at most 1000 ranks can be kept; say .*--top-k",
        ),
    ],
)
def test_values_that_make_no_sense_are_refused_with_their_row(tmp_path, change, line):
    table = [dict(row) for row in MANY]
    table[3] |= change
    with pytest.raises(DataError, match=line):
        ingest(write_csv(tmp_path / "log.csv", table))


def test_positions_may_count_from_zero(tmp_path):
    table = [row | {"position": row["position"] - 1} for row in MANY]
    path = write_csv(tmp_path / "log.csv", table)
    log = ingest(path, reader=LongReader(positions_from=0))[1]
    assert counted(log) == counted(ingest(write_csv(tmp_path / "one.csv", MANY))[1])
    with pytest.raises(
        DataError, match=r"first position is 0, say --positions-from 0; or say --on"
    ):
        ingest(path)
    with pytest.raises(DataError, match="nothing was ever shown at the first position"):
        ingest(tmp_path / "one.csv", reader=LongReader(positions_from=0))


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_has_a_default_and_can_be_refused(name):
    problem = PROBLEMS[name]
    assert "refuse" in problem.actions
    assert parse_actions([f"{name}={problem.actions[0]}"]) == {name: problem.actions[0]}
    assert parse_actions(["all=refuse"])[name] == "refuse"


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("gaps", "expected problem=keep, drop or refuse"),
        ("gaps=mend", "expected problem=keep, drop or refuse"),
        ("gap=drop", r"no problem 'gap'; there are: .*Did you mean 'gaps'"),
        ("conflicts=keep", "conflicts can only be set to drop or refuse"),
    ],
)
def test_wrong_words_about_problems(word, line):
    with pytest.raises(UsageError, match=line):
        parse_actions([word])


DIRTY_ROWS = {
    "missing-values": {"doc": ""},
    "unknown-clicks": {"click": "?"},
    "repeated-clicks": {"click": "3"},
    "bad-positions": {"position": "-3"},
    "clicks-without-impression": {"position": "", "click": 1},
}


@pytest.mark.parametrize("name", DIRTY_ROWS)
def test_a_problem_is_dropped_or_refused_as_asked(tmp_path, name):
    odd = {"session": "s0", "query": "q", "position": 4, "doc": "x", "click": 0} | DIRTY_ROWS[name]
    path = write_csv(tmp_path / "log.csv", [*MANY, odd])
    with pytest.raises(DataError, match=rf"\(1 (of \d+ )?(rows|clicks).*--on {name}="):
        ingest(path, on=[f"{name}=refuse"])
    assert not (tmp_path / "log.h5").exists()
    other = next(action for action in PROBLEMS[name].actions if action != "refuse")
    report, log = ingest(path, on=[f"{name}={other}"])
    assert found(report) == {name: 1}
    impressions = counted(log)[0]
    assert impressions["q", "x", 4] == (1 if name == "repeated-clicks" else 0)


def test_interactions_with_gaps_can_be_dropped(tmp_path):
    table = [row for row in MANY if not (row["session"] == "s3" and row["position"] == 2)]
    path = write_csv(tmp_path / "log.csv", table)
    kept, dropped = ingest(path)[1], ingest(path, on=["gaps=drop"])[1]
    assert sum(counted(kept)[2].values()) == 60
    assert sum(counted(dropped)[2].values()) == 59
    assert sum(counted(dropped)[0].values()) == len(table) - 2
    with pytest.raises(DataError, match=r"\(1 interactions, such as query 'q', session 's3'\)"):
        ingest(path, on=["gaps=refuse"])


@pytest.mark.parametrize("documents", [3, 40, 64, 65, 300], ids=str)
def test_a_document_that_comes_twice_in_a_list_counts_once(tmp_path, documents):
    """All ranks are filled, each once: only the documents tell."""
    names = [f"d{i}" for i in range(documents)]
    twice = [*names[:-1], names[0]]
    table = rows(*([(names, ("d1",))] * 40), (twice, ("d0",)))
    report, log = ingest(write_csv(tmp_path / "log.csv", table))
    assert found(report) == {"repeated-documents": 1}
    impressions, clicks, displays = counted(log)
    assert impressions["q", "d0", 1] == 41 and impressions["q", "d0", documents] == 0
    assert clicks["q", "d0", 1] == 1 and sum(displays.values()) == 41


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


# Splits.


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


# Interactions.


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


# On a data set's documents.


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


# Scores and propensities.


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
    with pytest.raises(DataError, match=r"propensities outside \(0, 1\].*such as row 5"):
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


# Kills and foreign files.


def test_a_kill_leaves_no_file_that_opens(tmp_path):
    path = write_csv(tmp_path / "log.csv", MANY * 200)
    out = tmp_path / "out.h5"
    began = time.perf_counter()
    children.run(lambda: ingest(path, out=out, sessions=True, on=["all=drop"]) and "done")
    whole = time.perf_counter() - began
    out.unlink()
    for share in (0.1, 0.4, 0.7, 0.9, 0.97):
        child, receive = children.start(lambda: ingest(path, out=out, sessions=True) and "done")
        time.sleep(share * whole)
        os.kill(child, signal.SIGKILL)
        children.finish(child, receive)
        if out.exists():  # then it was done just in time, and is whole
            assert sum(p.n_interactions for p in open_log(out).statistics.values()) == 60
            out.unlink()


def test_lists_of_a_foreign_file_are_checked(tmp_path):
    ingest(write_csv(tmp_path / "log.csv", MANY))
    out = tmp_path / "log.h5"
    with h5py.File(out, "r+") as file:
        file["lists/offsets"][...] = [0, 2]
    with pytest.raises(DataError, match="'lists/offsets' do not cut 3 documents into lists"):
        open_log(out)
    with h5py.File(out, "r+") as file:
        del file["lists/offsets"]
    with pytest.raises(DataError, match="'lists/offsets' is missing"):
        open_log(out)
    with h5py.File(out, "r+") as file:
        file["lists/offsets"] = h5py.ExternalLink("/etc/passwd", "x")
    with pytest.raises(DataError, match="is a link to elsewhere; refused"):
        open_log(out)


# The real logs.


@needs_real
def test_yandex_has_the_counts_of_its_readme(tmp_path):
    path = REAL / "yandex-relpred" / "train.tsv.gz"
    report, log = ingest(path, out=tmp_path / "log.h5")
    assert sum(report["n_interactions"].values()) == 35_064
    assert (report["queries"], report["documents"], report["top_k"]) == (20, 1024, 10)
    assert report["problems"] == []
    rates = [0.257, 0.249, 0.170, 0.154, 0.106, 0.073, 0.069, 0.047, 0.050, 0.045]
    np.testing.assert_allclose(report["click_rate"], rates, atol=5e-4)
    whole = sum((log.statistics[part] for part in ("valid", "test")), log.statistics["train"])
    assert ((whole.impressions > 0).sum(1) > 1).sum() == 538


@needs_real
@pytest.mark.parametrize(("split", "n"), [("train", 2872), ("valid", 361), ("test", 363)])
def test_trec_has_the_counts_of_its_readme(tmp_path, split, n):
    path = REAL / "trec-session-2014" / f"{split}.tsv.gz"
    report, _ = ingest(path, out=tmp_path / "log.h5")
    assert sum(report["n_interactions"].values()) == n
    if split == "train":
        rates = [0.132, 0.088, 0.068, 0.045, 0.033, 0.025, 0.021, 0.014, 0.014, 0.012]
        np.testing.assert_allclose(report["click_rate"], rates, atol=2e-3)


@needs_real
@pytest.mark.parametrize("policy", ["random", "bts"])
@pytest.mark.parametrize(("campaign", "items"), [("men", 34), ("women", 46)])
def test_open_bandit_has_the_counts_of_its_readme(tmp_path, policy, campaign, items):
    path = REAL / "open-bandit" / policy / campaign
    report, log = ingest(path, out=tmp_path / "log.h5", reader=OpenBanditReader())
    assert sum(report["impressions"].values()) == 10_000
    assert (report["queries"], report["documents"], report["top_k"]) == (1, items, 3)
    assert log.lists.query_ids.tolist() == [campaign]
    assert 30 <= sum(report["clicks"].values()) <= 80
    if policy == "random":
        np.testing.assert_allclose(log.propensities, 1 / items)
