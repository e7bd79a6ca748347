"""Guards ``cltr evaluate``: the same numbers again, and a blend that keeps its promise."""

import json

import pytest

KEYS = {"estimator", "reward", "metrics", "certificate", "blend", "run", "data", "n_interactions"}


@pytest.fixture
def run(train) -> dict:
    options = ("-o", "training.learning_rate=0.05", "-o", "estimator.clip=0.9")
    return train("--out", "run", *options, "--on-doubt", "ignore")


def test_a_run_is_judged_as_it_was(cltr, run):
    done = cltr("evaluate", "run", "--json")
    result = json.loads(done.stdout)
    assert done.exit_code == 0
    assert set(result) >= KEYS
    assert result["certificate"] == run["certificate"]
    assert result["metrics"] == run["metrics"]


def test_a_blend_keeps_its_promise(cltr, run):
    losses = [part["worst_case"]["ndcg@5"]["loss"] for part in run["certificate"].values()]
    assert max(losses) > 0
    for half in (max(losses) / 2, f"{50 * max(losses)}%"):
        done = cltr("evaluate", "run", "--blend-to-loss", half, "--json")
        result = json.loads(done.stdout)
        assert result["blend"] == pytest.approx(0.5)
        for part in result["certificate"].values():
            assert part["worst_case"]["ndcg@5"]["loss"] <= max(losses) / 2 + 1e-12


@pytest.mark.parametrize("typed", ["2,5%", "200%", "-0.1", "some"])
def test_a_loss_that_is_no_share_is_refused(refused, typed):
    assert f"'{typed}'" in refused("evaluate", "run", "--blend-to-loss", typed, code=2)


def test_metrics_may_be_read_in_another_way(cltr, run):
    plain, other = (
        json.loads(cltr("evaluate", "run", *words, "--json").stdout)["metrics"]["policy"]
        for words in ([], ["--gain", "exponential", "--empty", "skip"])
    )
    assert plain["ndcg@5"] == run["metrics"]["policy"]["ndcg@5"]
    assert other["dcg@5"] > plain["dcg@5"]
    assert other["recall@5"] >= plain["recall@5"]
    assert other["precision@5"] == plain["precision@5"]
    shown = cltr("evaluate", "run").stdout
    for word in ("mrr@5", "average rank", "recall@5"):
        assert word in shown


def test_people_are_told_of_the_blend(cltr, run):
    done = cltr("evaluate", "run", "--blend-to-loss", 0)
    text = " ".join(done.stdout.split())
    assert "the new ranking is shown to 0.0% of requests, production to the rest" in text
    assert "Worst case: how far NDCG@5 could fall below production" in text


def test_no_run_no_verdict(refused, here):
    line = "none: no such folder; give a run folder that 'cltr train' wrote"
    assert refused("evaluate", "none", code=1) == line
    (here / "empty").mkdir()
    assert refused("evaluate", "empty", code=1) == "empty: not a run folder: it has no run.toml"
    (here / "table.csv").write_text("query,document,score\n")
    line = refused("export", "table.csv", "--to", "json", code=1)
    assert line == "table.csv: is a file; give a run folder that 'cltr train' wrote"


def test_a_table_needs_a_log(refused, here):
    (here / "good.csv").write_text("query,document,score\n")
    line = ": is not a run folder, so it needs clicks to be judged by; add --log LOG, "
    for word in ("good.csv", "production"):
        told = refused("evaluate", word, code=2)
        assert told == f"{word}{line}a click log of production"


def test_a_run_without_a_result(refused, run, here):
    (here / "run/result.json").unlink()
    assert "the run is not finished" in refused("evaluate", "run", code=1)


def test_damaged_weights(refused, run, here):
    path = here / "run/policy.safetensors"
    path.write_bytes(path.read_bytes()[:50])
    assert refused("evaluate", "run", code=1).startswith("run/policy.safetensors: damaged weights")


@pytest.mark.parametrize("loss", ["-0.1", "1.5", "much"])
def test_a_loss_that_is_none(refused, loss):
    line = refused("evaluate", "run", "--blend-to-loss", loss, code=2)
    assert line.startswith("Invalid value for '--blend-to-loss'")


def test_data_that_is_not_there(refused, run):
    assert refused("evaluate", "run", "--data", "none.h5", code=1) == "none.h5: no such file"


def test_further_metrics_are_reported_when_asked_for(cltr, train, refused):
    words = ["-o", "evaluation.metrics=err", "--out", "run"]
    result = train(*words)
    assert 0 < result["metrics"]["policy"]["err@5"] < 1
    assert 0 < result["metrics"]["production"]["train_err@5"] < 1
    done = cltr("evaluate", "run", "--metric", "rbp", "--metric", "err")
    assert "rbp@5" in done.stdout
    assert "err@5" in done.stdout
    assert refused("evaluate", "run", "--metric", "rpb", code=2).startswith(
        "no metric named 'rpb'; installed: err (cltr "
    )
