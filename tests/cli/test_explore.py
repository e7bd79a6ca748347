"""Guards ``cltr explore``: who production is, what is certified, written and refused."""

import csv
import json

import numpy as np
import pytest

import cltr as package
from cltr.logs.log_file import open_log
from cltr.serving import ServingRule

CANDIDATES = [f"d{number}" for number in range(8)]


def write_log(path, *, queries=("shoes", "hats"), n=60):
    """A production that always shows the first four candidates; clicks on the first place."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["session", "query", "document", "position", "click"])
        for number in range(n):
            query = queries[number % len(queries)]
            for rank, document in enumerate(CANDIDATES[:4], start=1):
                row = [f"s{number}", query, f"{query}-{document}", rank, int(rank == 1)]
                writer.writerow(row)
    return path


def write_features(path, queries=("shoes", "hats")):
    """All candidates of the queries, eight each, as a data set."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["query", "document", "length"])
        for query in queries:
            for number, document in enumerate(CANDIDATES):
                writer.writerow([query, f"{query}-{document}", number])
    return path


def write_scores(path, queries=("shoes", "hats")):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["query", "document", "score"])
        for query in queries:
            for number, document in enumerate(CANDIDATES):
                writer.writerow([query, f"{query}-{document}", -number])
    return path


@pytest.fixture
def alone(cltr, here):
    """The log on its own lists, as a file."""
    done = cltr("ingest", write_log(here / "log.csv"), "--out", here / "log.h5")
    assert done.exit_code == 0, done.stderr
    return here / "log.h5"


@pytest.fixture
def on_data(cltr, here):
    """The log on a data set with all candidates."""
    queries = [f"q{number}" for number in range(20)]
    cltr("data", "import", write_features(here / "all.csv", queries), "--out", here / "all.h5")
    write_log(here / "log.csv", queries=queries, n=200)
    done = cltr("ingest", here / "log.csv", "--data", here / "all.h5", "--out", here / "log.h5")
    assert done.exit_code == 0, done.stderr
    return here, queries


def test_production_by_counts_explores_ranks(cltr, alone, here):
    done = cltr("explore", "--log", alone, "--max-loss", "0.02", "--out", here / "out")
    assert done.exit_code == 0, done.stderr
    assert "as counted in the log" in done.stdout
    assert "Its ranking never changes in 100% of these queries." in " ".join(done.stdout.split())
    assert "2.00 points from production as counted in any of the 2 queries" in " ".join(
        done.stdout.split()
    )
    rule = ServingRule.load(here / "out" / "serving.json")
    assert set(rule.rankings) == {"shoes", "hats"}
    assert {len(one.documents) for one in rule.rankings["hats"]} == {4}
    assert "Certificate" in (here / "out" / "README.md").read_text()
    assert json.loads((here / "out" / "result.json").read_text())["max_loss"] == 0.02


def test_candidates_that_were_never_shown_are_shown(cltr, on_data):
    here, queries = on_data
    words = ["explore", "--log", here / "log.h5", "--data", here / "all.h5", "--json"]
    result = json.loads(cltr(*words, "--out", here / "out").stdout)
    assert result["production"]["known_by"] == "counts"
    assert result["before"]["candidates_shown"] == pytest.approx(0.5)
    assert result["before"]["random_order"] == 0.0
    assert result["before"]["least_shown"] == 0.0
    assert result["after"]["hidden"] == pytest.approx(0.0, abs=1e-12)
    assert result["after"]["random_order"] > 0
    assert result["worst_case"]["largest_query"] == pytest.approx(0.01, rel=1e-6)
    rule = ServingRule.load(here / "out" / "serving.json")
    shown = {document for one in rule.rankings[queries[0]] for document in one.documents}
    assert shown == {f"{queries[0]}-{document}" for document in CANDIDATES}


def test_sorted_scores_are_known_of_all_queries(cltr, on_data):
    here, queries = on_data
    scores = write_scores(here / "scores.csv", queries)
    words = ["explore", "--log", here / "log.h5", "--data", here / "all.h5"]
    result = json.loads(cltr(*words, "--production", scores, "--json").stdout)
    assert result["production"]["known_by"] == "sorted scores"
    assert result["production"]["impressions_elsewhere"] == 0.0
    assert result["queries"] == len(queries)
    assert result["files"] == []
    assert sorted(path.name for path in here.iterdir()) == sorted(
        ["all.csv", "all.h5", "log.csv", "log.h5", "scores.csv"]
    )


def test_the_next_log_has_exact_exposure(cltr, on_data):
    """The circle: explore, serve, ingest; then explore from the records."""
    here, queries = on_data
    words = ["explore", "--data", here / "all.h5", "--max-loss", "0.1"]
    assert cltr(*words, "--log", here / "log.h5", "--out", here / "out").exit_code == 0
    rule = ServingRule.load(here / "out" / "serving.json")
    records, clicks = [], []
    for number in range(400):
        query = queries[number % len(queries)]
        scores = {f"{query}-{document}": -float(k) for k, document in enumerate(CANDIDATES)}
        served = rule.serve(f"r{number}", query, new=scores, production=scores)
        records.append(json.dumps(served.record(scores, scores)))
        clicks.append(json.dumps({"request": f"r{number}", "document": served.shown[0]}))
    (here / "requests.jsonl").write_text("\n".join(records))
    (here / "clicks.jsonl").write_text("\n".join(clicks))
    files = [here / "requests.jsonl", here / "clicks.jsonl"]
    next_log = ["--format", "served", "--data", here / "all.h5", "--out", here / "next.h5"]
    done = cltr("ingest", *files, *next_log)
    assert done.exit_code == 0, done.stderr
    log = open_log(here / "next.h5")
    assert log.computed
    data = package.open_dataset(here / "all.h5")
    expected = np.zeros((data.n_documents, 4))
    rows = {name: row for row, name in enumerate(data.document_ids.astype(str).tolist())}
    for stored in rule.rankings.values():
        for one in stored:
            expected[[rows[name] for name in one.documents], range(4)] += one.share
    np.testing.assert_allclose(log.propensities, expected, atol=1e-12)
    result = json.loads(cltr(*words, "--log", here / "next.h5", "--json").stdout)
    assert result["production"]["known_by"] == "records"


def test_a_simulated_log_is_sampled(cltr, here):
    cltr("simulate", "-n", "2000", "--out", here / "log.h5", "-o", "production.epochs=2")
    done = cltr("explore", "--log", here / "log.h5", "--out", here / "exploring")
    assert done.exit_code == 0, done.stderr
    assert "draws rankings from its scores" in done.stdout
    for command in ("--format served --data demo --out next.h5", "--log next.h5 --data demo"):
        assert command in (here / "exploring" / "README.md").read_text()


def test_python_gives_the_same(alone):
    found = package.explore(alone, max_loss=0.05)
    assert found.largest_loss == pytest.approx(0.05, rel=1e-6)
    assert found.loss <= 0.05 + 1e-9
    assert isinstance(found.rule, ServingRule)
    assert found.result["data"] == ""  # it stands alone
    assert found.table().column("policy").to_pylist() == ["before", "after"]
    assert "Certificate" in repr(found)


def test_a_table_in_memory_is_ingested(here):
    with write_log(here / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    columns |= {key: [int(value) for value in columns[key]] for key in ("position", "click")}
    assert package.explore(columns).result["log"] == "data frame"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--log", "none.h5"], "none.h5"),
        (["--log", "log.csv"], "import it first"),
        (["--log", "log.h5", "--max-loss", "0"], "--max-loss is 0; it must lie above 0"),
        (["--log", "log.h5", "--max-loss", "lots"], "is not a number such as 0.02"),
        (["--log", "log.h5", "--data", "demo"], "leave out --data"),
        (["--log", "log.h5", "--production", "none.csv"], "none.csv"),
        (["--log", "log.h5", "--out", "log.csv"], "log.csv: is a file; --out needs a folder"),
        ([], "Missing option '--log'"),
    ],
)
def test_what_is_wrong_is_one_line(cltr, alone, words, message):
    done = cltr("explore", *words)
    assert done.exit_code in (1, 2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_rule_is_not_written_over(cltr, alone, here):
    assert cltr("explore", "--log", alone, "--out", here / "out").exit_code == 0
    again = cltr("explore", "--log", alone, "--out", here / "out")
    assert again.exit_code == 2
    assert "holds a serving.json already" in again.stderr


def test_a_folder_with_a_rule_is_whole(alone, here, monkeypatch):
    """What is killed before the last file can be run again."""
    saved = ServingRule.save

    def killed(self, path):
        raise KeyboardInterrupt

    monkeypatch.setattr(ServingRule, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        package.explore(alone, out=here / "out")
    monkeypatch.setattr(ServingRule, "save", saved)
    package.explore(alone, out=here / "out")
    names = {path.name for path in (here / "out").iterdir()}
    assert names == {"serving.json", "README.md", "result.json"}
