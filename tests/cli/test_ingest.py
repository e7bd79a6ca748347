"""Guards ``cltr ingest`` as it is typed: what it prints, writes and refuses."""

import json

import pytest

from cltr.logs.log_file import open_log
from tests import untidy_logs as untidy
from tests.plain_logs import rows, write_csv, write_jsonl

LOG = rows(*([(("a", "b", "c"), ("a",)), (("b", "a"), ()), (("c", "a", "b"), ("b",))] * 20))
KEYS = {
    "format", "files", "top_k", "n_interactions", "impressions", "clicks", "queries", "documents",
    "impressions_by_rank", "click_rate", "scores", "propensities", "problems", "split", "seconds",
    "log",
}  # fmt: skip


def test_json_says_what_is_in_the_log(cltr, here):
    write_csv(here / "log.csv", LOG)
    done = cltr("ingest", "log.csv", "--out", "log.h5", "--json")
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    assert set(report) >= KEYS
    log = open_log(here / "log.h5")
    assert report["clicks"]["train"] == log.statistics["train"].clicks.sum()
    assert (report["queries"], report["documents"], report["top_k"]) == (1, 3, 3)


def test_the_table_shows_ranks_and_problems(cltr, here):
    write_csv(here / "log.csv", [*LOG, {**LOG[0], "doc": ""}])
    done = cltr("ingest", "log.csv", "--out", "log.h5")
    assert done.exit_code == 0
    assert "clicks per impression" in done.stdout
    assert "missing-values" in done.stdout and "dropped" in done.stdout
    assert "next: cltr check log.h5" in done.stdout
    write_csv(here / "log.csv", LOG)
    assert "no problems" in cltr("ingest", "log.csv", "--out", "log.h5").stdout


def test_columns_context_and_sessions(cltr, here):
    table = [
        {"s": r["session"], "q": r["query"], "d": r["doc"], "p": r["position"] - 1, "c": r["click"],
         "device": "phone"}
        for r in LOG
    ]  # fmt: skip
    write_jsonl(here / "log.jsonl", table)
    flags = [f"--{name}-column={name[0]}" for name in ("session", "query", "document", "position")]
    words = [*flags, "--click-column", "c", "--context-column", "device", "--positions-from", "0"]
    done = cltr("ingest", "log.jsonl", "--out", "log.h5", *words, "--sessions", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["sessions"] is True


def test_another_format_and_its_options(cltr, here):
    table = [{"query": f"q{i % 2}", "docs": ["a", "b"], "clicks": ["b"]} for i in range(40)]
    write_jsonl(here / "log.jsonl", table)
    words = ["--format", "list", "-o", "clicks-are=documents"]
    done = cltr("ingest", "log.jsonl", "--out", "log.h5", *words, "--json")
    assert done.exit_code == 0, done.stderr
    assert sum(json.loads(done.stdout)["clicks"].values()) == 40


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["nothing.csv"], 1, "nothing.csv: no such file"),
        (["log.csv", "--format", "lng"], 2, "no log-reader named 'lng'"),
        (["log.csv", "--query-column", "x"], 1, "has no column 'x' (--query-column)"),
        (["log.csv", "-o", "colour=red"], 2, "no option 'long.colour'"),
        (["log.csv", "-o", "colour"], 2, "expected key=value"),
        (["log.csv", "--on", "gaps=mend"], 2, "expected problem=keep, drop or refuse"),
        (["log.csv", "--format", "ubi"], 1, "is neither ubi_queries"),
        (["log.csv", "--split-by", "user"], 2, "--split-by user needs to know users"),
        (["log.csv", "--test-share", "1"], 2, "1.0 is not in the range 0<=x<1"),
        (["log.csv", "--test-share", "0.9"], 2, "leave no interactions for training"),
        (["log.csv", "--test-share", "0.1", "--valid", "v.csv"], 2, "give files with test inter"),
        (["log.csv", "--test-share", "0.1", "--data", "demo"], 2, "on the data set's test queries"),
        (["log.csv", "--memory", "lots"], 2, "--memory lots: expected a size such as 4GB"),
        (["log.csv", "--data", "nothing.h5"], 1, "nothing.h5: no such file"),
        (["log.csv", "--data", "demo"], 1, "no document of the log is in"),
        (["log.csv", "--session-column", "none", "--sessions"], 2, "only single impressions"),
        (["log.csv", "--top-k", "0"], 2, "'0' is not a whole number of at least 1"),
        (
            ["dirty.csv", "--on", "all=refuse"],
            1,
            "(1 of 161 rows, such as data row 161: query 'q', document miss",
        ),
        (["log.csv", "--out", "nowhere/log.h5"], 1, "there is no folder 'nowhere'"),
    ],
)
def test_what_is_wrong_is_one_line(refused, here, words, code, line):
    write_csv(here / "log.csv", LOG)
    write_csv(here / "dirty.csv", [*LOG, {**LOG[0], "doc": ""}])
    if "--out" not in words:
        words = [*words, "--out", "log.h5"]
    assert line in refused("ingest", *words, code=code)


def test_a_log_trains_from_start_to_end(cltr, here, train):
    write_csv(here / "log.csv", LOG)
    assert cltr("ingest", "log.csv", "--out", "log.h5").exit_code == 0
    words = ["--log", "log.h5", "--scorer", "table", "--top-k", "3", "-o", "training.epochs=3"]
    done = cltr(
        "train", *words, "--click-model", "pbm", "--reward", "ips", "--out", "run", "--json"
    )
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["data"] == "log" and result["exposure"] == "counted"
    assert result["metrics"]["policy"]["value"] >= result["metrics"]["production"]["value"]
    # The test part lies on the same lists, and a certificate looks at lists only.
    assert result["certificate"]["test"] == result["certificate"]["train"]
    shown = cltr("evaluate", "run").stdout
    assert "Estimated from" in shown and "note: production's exposure is counted" in shown
    again = json.loads(cltr("evaluate", "run", "--json").stdout)
    assert again["off_policy"] == result["off_policy"]
    assert again["certificate"] == result["certificate"]


def test_log_files_are_merged(cltr, here):
    for day in ("monday", "tuesday"):
        table = [row | {"session": f"{day}{row['session']}"} for row in LOG]
        write_csv(here / f"{day}.csv", table)
        assert cltr("ingest", f"{day}.csv", "--out", f"{day}.h5").exit_code == 0
    done = cltr("ingest", "monday.h5", "tuesday.h5", "--out", "days.h5", "--json")
    assert done.exit_code == 0, done.stderr
    assert sum(json.loads(done.stdout)["n_interactions"].values()) == 120
    assert "next: cltr check all.h5" in cltr("ingest", "days.h5", "--out", "all.h5").stdout


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["a.h5", "b.csv"], "give either log files (.h5) to merge, or files to import, not both"),
        (
            ["a.h5", "b.h5", "--top-k", "3"],
            "--top-k: cannot be used when log files (.h5) are merged",
        ),
    ],
)
def test_merging_takes_logs_as_they_are(refused, words, line):
    assert refused("ingest", *words, "--out", "days.h5", code=2).startswith(line)


def test_the_parts_of_a_log_are_shown(cltr, here):
    write_csv(here / "log.csv", LOG)
    shown = cltr("ingest", "log.csv", "--out", "log.h5", "--test-share", "0.3").stdout
    n = {name: part.n_interactions for name, part in open_log(here / "log.h5").statistics.items()}
    text = f"{n['train']} training, {n['valid']} validation and {n['test']} test interactions"
    assert text in " ".join(shown.split())
    shown = cltr("ingest", "log.csv", "--out", "log.h5", "--test-share", "0").stdout
    n = {name: part.n_interactions for name, part in open_log(here / "log.h5").statistics.items()}
    text = f"{n['train']} training and {n['valid']} validation interactions"
    assert text in " ".join(shown.split()) and "note:" not in shown


def test_parts_from_files(cltr, here):
    for name in ("log", "valid", "test"):
        write_csv(here / f"{name}.csv", [row | {"session": name + row["session"]} for row in LOG])
    words = ["--valid", "valid.csv", "--out", "log.h5", "--json"]
    report = json.loads(cltr("ingest", "log.csv", "--test", "test.csv", *words).stdout)
    assert report["n_interactions"] == {"train": 60, "valid": 60, "test": 60}
    assert report["notes"] == []
    assert (
        "no test files (--test)" in json.loads(cltr("ingest", "log.csv", *words).stdout)["notes"][0]
    )


def test_windows_of_time(cltr, here):
    write_jsonl(here / "log.jsonl", untidy.days(untidy.interactions()))
    words = ["--time-column", "when", "--from", "2023-11-15", "--until", "2023-11-22"]
    words += ["--split-by", "time", "--valid-from", "2023-11-20", "--test-from", "2023-11-21"]
    done = cltr("ingest", "log.jsonl", "--out", "log.h5", *words, "--json")
    assert done.exit_code == 0, done.stderr
    assert set(json.loads(done.stdout)["n_interactions"]) == {"train", "valid", "test"}


def test_a_simulated_log_gives_the_same_policy_after_a_way_through_parquet(cltr, here):
    """To the last bit: interactions and scores lose nothing on the way."""
    data = ("--data", "demo")
    steps = [
        ("simulate", "-n", "400", "--sessions", "--out", "log.h5"),
        ("data", "export", "log.h5", "--to", "clicks", *data, "--out", "clicks.parquet"),
        ("data", "export", "log.h5", "--to", "scores", *data, "--out", "scores.parquet"),
        ("ingest", "clicks.parquet", *data, "--production", "scores.parquet", "--out", "again.h5"),
    ]
    same = ("--exposure", "exact", "-o", "training.epochs=2", *data)
    steps += [
        ("train", "--log", log, "--out", run, *same)
        for log, run in (("log.h5", "first"), ("again.h5", "second"))
    ]
    for step in steps:
        done = cltr(*step)
        assert done.exit_code == 0, (step, done.stderr)
    first, second = (here / run / "policy.safetensors" for run in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()


def test_a_ten_rank_log_trains_on_ten_ranks(cltr, here):
    """If the click model has values for ten; else it says on how many."""
    write_jsonl(here / "log.jsonl", untidy.tidy(untidy.interactions(300)))
    assert cltr("ingest", "log.jsonl", "--out", "log.h5").exit_code == 0
    words = ("--log", "log.h5", "--reward", "ips", "-o", "training.epochs=1", "--json")
    pbm = json.loads(cltr("train", *words, "--click-model", "pbm", "--out", "a").stdout)
    assert "top_k = 10" in (here / "a" / "run.toml").read_text()
    assert not any("ranks" in line for line in pbm["assumptions"])
    refused = cltr("train", *words, "--click-model", "trust-bias", "--top-k", "10", "--out", "b")
    assert refused.exit_code != 0 and "has values for 5 ranks, but 10 are needed" in refused.stderr
    assert not (here / "b").exists()
    five = json.loads(cltr("train", *words, "--click-model", "trust-bias", "--out", "c").stdout)
    assert "the run uses the first 5 of the log's 10 ranks" in five["assumptions"]


def rename(path, **names):
    """Give columns of a CSV file other names."""
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([",".join(names.get(n, n) for n in head.split(",")), *rows]))


def scores_of(table):
    pairs = sorted({(row["query"], row["doc"]) for row in table})
    lines = [f"{query},{document},{n}" for n, (query, document) in enumerate(pairs)]
    return "\n".join(["query,doc,score", *lines])


def test_named_columns_are_those_of_the_score_file_too(cltr, here):
    write_csv(here / "log.csv", LOG)
    (here / "scores.csv").write_text(scores_of(LOG))
    rename(here / "log.csv", doc="thing", query="wish")
    rename(here / "scores.csv", doc="thing", query="wish")
    named = ["--document-column", "thing", "--query-column", "wish"]
    done = cltr("ingest", "log.csv", *named, "--production", "scores.csv", "--out", "log.h5")
    assert done.exit_code == 0, done.stderr
    assert "The log has production's score of every document." in done.stdout
    (here / "common.csv").write_text(scores_of(LOG))  # common names do as well
    done = cltr("ingest", "log.csv", *named, "--production", "common.csv", "--out", "other.h5")
    assert done.exit_code == 0, done.stderr


def test_a_score_file_with_other_columns_says_how_to_rename_them(refused, here):
    write_csv(here / "log.csv", LOG)
    (here / "scores.csv").write_text(scores_of(LOG))
    rename(here / "log.csv", doc="thing")
    rename(here / "scores.csv", doc="what")
    words = ["log.csv", "--document-column", "thing", "--production", "scores.csv"]
    line = refused("ingest", *words, "--out", "log.h5", code=1)
    assert line.startswith("scores.csv: which column is the document?")
    assert line.endswith("rename the column to 'document', or to 'thing' as --document-column says")


def test_an_existing_file_is_replaced_and_that_is_said(cltr, here):
    write_csv(here / "log.csv", LOG)
    first = cltr("ingest", "log.csv", "--out", "log.h5")
    assert "Note:" not in first.stderr
    assert "The log has no production scores (--production, --score-column)." in first.stdout
    again = cltr("ingest", "log.csv", "--out", "log.h5", "--top-k", "2", "--json")
    note = "Note: log.h5 exists; it is replaced when the new file is complete (--out).\n"
    assert again.stderr.startswith(note)
    assert json.loads(again.stdout)["top_k"] == 2


def test_a_column_without_clicks_is_not_dropped(refused, here):
    write_csv(here / "log.csv", LOG)
    line = refused("ingest", "log.csv", "--click-column", "doc", "--out", "log.h5", code=1)
    assert line.endswith(
        "; no row has a click that can be read, so name another column with --click-column"
    )
