"""Guards ``cltr gate`` and ``cltr evaluate --log``: candidates from tables, runs and TREC files."""

import json
import re

import numpy as np
import pytest

from cltr.files.trec import write_run
from tests import small

JUDGING = ["--log", "log.h5", "--click-model", "trust-bias"]


@pytest.fixture
def log(cltr, here):
    words = [*small.FLAGS[3:], "-n", 4000, "--sessions", "--out", "log.h5"]
    done = cltr("simulate", *words)
    assert done.exit_code == 0, done.stderr
    return "log.h5"


@pytest.fixture
def scores(here):
    """Good scores of all documents as a TREC run, and as a table with 2% missing and strangers."""
    data = small.dataset()
    good = 3.0 * data.relevance + 0.01 * np.arange(data.n_documents) / data.n_documents
    write_run(here / "good.trec", data.query_ids, data.document_ids, data.offsets, good)
    write_run(here / "bad.trec", data.query_ids, data.document_ids, data.offsets, -good)
    owners = data.query_ids[data.lists.owners]
    lines = [f"{q},{d},{s}" for q, d, s in zip(owners, data.document_ids, good, strict=True)]
    kept = [line for place, line in enumerate(lines) if place % 50 != 3]
    table = ["query,document,score", *kept, "nowhere,d,1", f"{owners[0]},stranger,2"]
    (here / "holes.csv").write_text("\n".join(table) + "\n")
    return good


def result(done) -> dict:
    assert done.exit_code in (0, 3), done.stderr
    return json.loads(done.stdout)


def test_production_is_as_good_as_production(cltr, log):
    done = cltr("gate", "production", *JUDGING, "--json")
    found = result(done)
    assert done.exit_code == 0
    assert found["verdict"] == "deploy"
    assert found["worst_case_loss"] == 0.0
    assert found["gain"]["value"] == 0.0


def test_a_click_model_is_fitted_unless_one_is_named(cltr, log):
    found = result(cltr("gate", "production", "--log", "log.h5", "--json"))
    assert any("then fitted to all" in sentence for sentence in found["assumptions"])


def test_a_bad_candidate_is_not_deployed(cltr, log, scores):
    done = cltr("gate", "bad.trec", *JUDGING, "--clicks", "all", "--json")
    found = result(done)
    assert done.exit_code == 3
    assert found["verdict"] in ("reject", "canary")
    assert found["gain"]["value"] < 0
    assert found["gain"]["low"] < found["gain"]["value"] < found["gain"]["high"]


def test_a_canary_has_the_share_that_fits_the_budget(cltr, log, scores):
    done = cltr("gate", "good.trec", *JUDGING, "--max-loss", "1%", "--json")
    found = result(done)
    if found["verdict"] == "canary":
        assert found["share"] == pytest.approx(0.01 / found["worst_case_loss"])
    assert [reason[:7] for reason in found["reasons"]][-1] == "Level 0"


def test_holes_are_told(cltr, log, scores):
    shown = " ".join(cltr("gate", "holes.csv", *JUDGING).stdout.split())
    assert re.search(r"Health checks: \d+ of \d+ passed", shown)
    assert "documents have no score; they rank below" in shown
    assert "1 queries of the table are not in the log" in shown
    found = result(cltr("gate", "holes.csv", *JUDGING, "--json"))
    assert found["scores"]["missing_documents"] > 0
    assert found["scores"]["unknown_documents"] == 1
    assert any("without 1 documents that the log" in reason for reason in found["reasons"])


@pytest.mark.parametrize(
    ("verb", "others"), [("gate", []), ("evaluate", ["good.trec"])], ids=["gate", "evaluate"]
)
def test_the_score_column_of_a_table_can_be_named(cltr, log, scores, here, refused, verb, others):
    """Beside a TREC run too, which has no columns to name."""
    rows = (here / "holes.csv").read_text().splitlines()
    wide = ["query,document,bm25,age", *(f"{row},3" for row in rows[1:])]
    (here / "wide.csv").write_text("\n".join(wide) + "\n")
    assert "name it with --score-column" in refused(verb, "wide.csv", *JUDGING, code=1)

    def gain(*words) -> float:
        found = result(cltr(verb, *words, *others, *JUDGING, "--json"))
        assert ("--score-column bm25" in found["made_from"]["command"]) == ("wide.csv" in words)
        return (found if verb == "gate" else found["candidates"][0])["gain"]["value"]

    assert gain("wide.csv", "--score-column", "bm25") == gain("holes.csv")
    line = refused(verb, "good.trec", *JUDGING, "--score-column", "bm25", code=2)
    assert "--score-column bm25: no candidate is a table of scores" in line


def test_candidates_side_by_side(cltr, log, scores):
    done = cltr("evaluate", "good.trec", "production", *JUDGING, "--json")
    found = result(done)
    assert [one["candidate"] for one in found["candidates"]] == ["good.trec", "production"]
    assert [one["candidate"] for one in found["references"]] == ["production, sorted", "uniform"]
    names = [row["estimator"] for row in found["candidates"][0]["estimates"]]
    assert names[:5] == ["IPS", "SNIPS", "beta*-IPS", "DR", "DM"]
    assert names[-1] == "log. smoothing"
    assert found["candidates"][0]["gain"]["confidence"] == pytest.approx(0.975)
    good, same = (one["metrics"]["ndcg@5"] for one in found["candidates"])
    assert good > same == found["production_metrics"]["ndcg@5"]
    shown = cltr("evaluate", "good.trec", *JUDGING).stdout
    assert "Lower bounds hold with 95% confidence" in " ".join(shown.split())
    assert "uniform" in shown
    assert "'cltr train' counts all queries equally" in " ".join(shown.split())
    assert "NDCG@5 on judgements" in shown


def test_a_run_is_judged_by_test_clicks_only(cltr, log, train, refused):
    train("--log", "log.h5", "--out", "run")
    found = result(cltr("gate", "run", *JUDGING, "--json"))
    assert found["verdict"] in ("deploy", "canary", "hold", "reject")
    line = refused("gate", "run", *JUDGING, "--clicks", "all", code=2)
    assert "only its test clicks can judge it" in line


def test_counts_alone_will_do(cltr, here, scores):
    cltr("simulate", *small.FLAGS[3:], "-n", 4000, "--out", "log.h5")
    found = result(cltr("evaluate", "good.trec", *JUDGING, "--json"))
    assert found["units"] == "queries"
    assert "log. smoothing" not in [r["estimator"] for r in found["candidates"][0]["estimates"]]


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["gate", "none.csv", *JUDGING], 1, "none.csv: no such file; give a run"),
        (["gate", "production", "--log", "none.h5"], 1, "none.h5: no such file"),
        (["evaluate", "a", "b"], 2, "several candidates are judged by a log"),
        (["evaluate", "run", "--serve", "sorted"], 2, "--serve needs --log"),
        (
            ["evaluate", "run", "--log", "l.h5", "--ties", "order"],
            2,
            "--ties cannot be used with --log",
        ),
        (["gate", "production", *JUDGING, "--max-loss", "much"], 2, "Invalid value"),
        (["gate", "production", "--confidence", "95"], 2, "between 0.5 and 1; for 95% say 0.95"),
        (
            ["gate", "production", "--max-loss", "2"],
            2,
            "0 and 1 (0% and 100%); for 2% say 2% or 0.02",
        ),
        (["gate", "production", "--confidence", "0.2"], 2, "'0.2' does not lie between 0.5 and 1"),
        (["gate", "production", "--confidence", "high"], 2, "is not a number such as 0.95"),
    ],
)
def test_what_cannot_be_judged(refused, log, words, code, line):
    assert line in refused(*words, code=code)


@pytest.mark.parametrize("command", ["gate", "evaluate"])
def test_a_table_without_scores_is_refused_before_the_log_is_read(
    refused, here, monkeypatch, command
):
    (here / "wrong.csv").write_text("query,colour\n1,red\n")
    monkeypatch.setattr(
        "cltr.api.judged_sources.open_judged_log", lambda *a, **k: pytest.fail("late")
    )
    assert "wrong.csv: " in refused(command, "wrong.csv", *JUDGING, code=1)


def test_a_canary_is_judged(cltr, log, scores, here, refused):
    rng = np.random.default_rng(0)
    new = rng.random(8000) < 0.5
    bought = (rng.random(8000) < np.where(new, 0.5, 0.3)).astype(int)
    rows = [
        f"{'new' if arm else 'production'},0.5,{outcome}"
        for arm, outcome in zip(new, bought, strict=True)
    ]
    (here / "canary.csv").write_text("\n".join(["arm,share,orders", *rows]) + "\n")
    words = ["gate", "good.trec", *JUDGING, "--canary", "canary.csv"]
    done = cltr(*words, "--outcome-column", "orders", "--tolerance", 0.01, "--json")
    found = json.loads(done.stdout)
    assert done.exit_code == 0
    assert (found["decision"], found["share"]) == ("ship", 1.0)
    loss = found["gate"]["worst_case_loss"]
    assert found["certified_share"] == pytest.approx(min(1.0, 0.02 / loss))
    assert "which column is the click" in refused(*words, code=1)


def test_a_canary_needs_the_log_of_production(refused):
    assert "--log is missing: give the click log of production" in refused(
        "gate", "x.csv", "--canary", "c.csv", code=2
    )


@pytest.fixture
def users(here):
    """A log of a few hundred users, each with several requests."""
    rng = np.random.default_rng(0)
    lines = ["session,query,document,position,click,score,user"]
    for i in range(3000):
        query, user = rng.integers(10), rng.integers(300)
        for rank, one in enumerate(rng.permutation(4)[:3], start=1):
            click = int(rng.random() < (one + 1) / 5 / rank)
            lines.append(f"s{i},q{query},d{one},{rank},{click},0,u{user}")
    (here / "rows.csv").write_text("\n".join(lines) + "\n")
    return ["rows.csv", "--score-column", "score", "--user-column", "user", "--sessions"]


def test_users_are_independent_where_they_are_known(cltr, users):
    assert cltr("ingest", *users, "--split-by", "user", "--out", "log.h5").exit_code == 0
    found = result(cltr("gate", "production", *JUDGING, "--json"))
    assert found["independent"]["these_queries"] == "users"
    assert found["independent"]["n_these_queries"] < 100
    assert found["independent"]["same_queries_in_training"]
    assert not any("--split-by user" in note for note in found["assumptions"])
    assert not any("'cltr train' counts" in note for note in found["assumptions"])
    shown = " ".join(cltr("evaluate", "production", *JUDGING).stdout.split())
    assert "for these queries treat users as independent" in shown
    assert "those for new queries treat queries as independent (10 of them)" in shown


def test_users_in_both_parts_are_told(cltr, users):
    assert cltr("ingest", *users, "--out", "log.h5").exit_code == 0
    shown = " ".join(cltr("gate", "production", *JUDGING).stdout.split())
    assert "of the held-out interactions are of users whose other clicks" in shown


def test_bounds_hold_for_all_candidates_together(cltr, log, scores):
    alone = result(cltr("evaluate", "good.trec", *JUDGING, "--json"))["candidates"][0]
    words = ["good.trec", "bad.trec", "production"]
    first = result(cltr("evaluate", *words, *JUDGING, "--json"))["candidates"][0]
    assert alone["gain"]["confidence"] == pytest.approx(0.95)
    assert first["gain"]["confidence"] == pytest.approx(1 - 0.05 / 3)
    bounds = [
        {row["estimator"]: row["low"] for row in one["estimates"] if row["bound"] == "t"}
        for one in (alone, first)
    ]
    assert bounds[0].keys() == bounds[1].keys()
    assert all(bounds[1][name] < low for name, low in bounds[0].items())


def test_counts_alone_have_one_error(cltr, here):
    assert cltr("simulate", *small.FLAGS[3:], "-n", 4000, "--out", "log.h5").exit_code == 0
    shown = " ".join(cltr("gate", "production", *JUDGING).stdout.split())
    assert "The log has counts only" in shown
    assert "for new queries" not in shown


@pytest.mark.parametrize("verb", ["gate", "evaluate"])
def test_a_candidate_is_not_written_over(refused, here, verb):
    (here / "scores.json").write_text("[]")
    words = [verb, "scores.json", "--log", "log.h5", "--out", "scores.json"]
    line = "--out scores.json: is also an input; choose another file"
    assert refused(*words, code=2) == line
