"""Guards ``cltr fit`` as it is typed: models side by side, kept in files, refused in one line."""

import json
import shlex

import pytest

from cltr.clicks.model_file import load_click_model
from tests import small
from tests.plain_logs import rows, write_csv


@pytest.fixture
def log(cltr, here):
    """A log that stands alone, with its interactions."""
    lists = [
        (("a", "b", "c"), ("a",)),
        (("b", "a", "c"), ("b", "c")),
        (("c", "a", "b"), ()),
        (("a", "c", "b"), ("c",)),
    ] * 100
    write_csv(here / "log.csv", rows(*lists))
    assert cltr("ingest", "log.csv", "--sessions", "--out", "log.h5").exit_code == 0
    return "log.h5"


@pytest.fixture
def counts(cltr, here):
    """A simulated log on the demo data, counts only."""
    assert cltr("simulate", "-n", "3e3", "--out", "counts.h5").exit_code == 0
    return "counts.h5"


def test_all_models_that_the_log_allows_stand_side_by_side(cltr, log, here):
    done = cltr("fit", "--log", log)
    assert done.exit_code == 0, done.stderr
    for word in ("dbn", "ubm", "trust-bias", "rank-ctr", "perplexity", "at rank 3", "closed form"):
        assert word in done.stdout
    for word in ("all pairs", "affine map", "winner: ", "use it: cltr train --log log.h5"):
        assert word in done.stdout
    report = json.loads((here / "log-models/fit.json").read_text())
    assert {f"{one['name']}.h5" for one in report["models"]} == {
        path.name for path in (here / "log-models").glob("*.h5")
    }
    assert (here / "log-models/examination.png").stat().st_size > 1000


def test_json_is_one_object_with_models_from_best_to_worst(cltr, log):
    words = ("--click-model", "pbm", "--click-model", "dbn", "--click-model", "rank-ctr")
    report = json.loads(cltr("fit", "--log", log, *words, "--out", "m", "--json").stdout)
    values = [one["log_likelihood"] for one in report["models"]]
    assert values == sorted(values, reverse=True)
    assert report["winner"] == report["models"][0]["name"]
    assert report["models"][0]["against_winner"] == {"value": 0.0, "standard_error": 0.0} or (
        report["models"][0]["against_winner"]["standard_error"] is None
    )
    by_name = {one["name"]: one for one in report["models"]}
    assert by_name["pbm"]["affine"] and not by_name["dbn"]["affine"]
    assert len(by_name["dbn"]["examination"]) == len(by_name["pbm"]["bias"]["slope"]) == 3
    assert by_name["rank-ctr"]["examination"] is None
    assert load_click_model(by_name["dbn"]["file"]).name == "dbn"


def run_printed(cltr, text):
    """The command that the output tells to use, as it stands, with little training."""
    (line,) = [line for line in text.splitlines() if line.startswith("use it: ")]
    program, *words = shlex.split(line.removeprefix("use it: "))
    assert program == "cltr"
    done = cltr(*words, "--no-skyline", "-o", "training.epochs=2", "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout), words


def test_the_printed_command_runs_on_a_log_that_stands_alone(cltr, log):
    done = cltr("fit", "--log", log, "--out", "my models")
    result, words = run_printed(cltr, done.stdout)
    assert "--data" not in words
    assert result["top_k"] == 3


@pytest.mark.parametrize("ranks", [3, 5])
def test_the_printed_command_runs_on_a_data_set(cltr, here, ranks):
    data = small.saved(here)
    words = ("--data", data, "-n", "3e3", "--out", "counts.h5")
    assert cltr("simulate", *words).exit_code == 0
    done = cltr("fit", "--log", "counts.h5", "--data", data, "--top-k", ranks)
    assert done.exit_code == 0, done.stderr
    result, words = run_printed(cltr, done.stdout)
    assert words[words.index("--data") + 1] == data
    assert result["top_k"] == ranks


def test_a_model_that_has_not_converged_is_not_recommended(cltr, counts):
    words = ("--click-model", "pbm", "--click-model", "trust-bias")
    few = ("-o", "trust-bias.iterations=1", "-o", "pbm.iterations=2000")
    done = cltr("fit", "--log", counts, *words, *few)
    assert "trust-bias has not converged" in done.stdout
    assert "recommended: pbm" in done.stdout
    assert "fitted:counts-models/pbm.h5" in done.stdout
    assert "fitted:counts-models/trust-bias.h5" not in done.stdout
    none = cltr("fit", "--log", counts, *words, "-o", "click-model.iterations=1").stdout
    assert "cltr recommends none of these models" in none
    assert "use it" not in none


def test_models_that_cannot_be_told_apart_are_said_to_be_so(cltr, counts, monkeypatch):
    """With a threshold that nothing reaches."""
    monkeypatch.setattr("cltr.clicks.model_comparison.SURE", 1e9)
    words = ("--click-model", "pbm", "--click-model", "trust-bias")
    done = cltr("fit", "--log", counts, *words)
    assert "recommended: pbm; trust-bias is 0." in done.stdout
    assert "nats per list better (standard error 0." in done.stdout
    assert (
        "so held-out clicks do not distinguish the two, and pbm is the simpler model" in done.stdout
    )


def test_intervals_hold_every_rank(cltr, counts):
    words = ("--click-model", "trust-bias", "--intervals", "--out", "one.h5", "--json")
    report = json.loads(cltr("fit", "--log", counts, *words).stdout)
    (model,) = report["models"]
    assert set(model["bias"]["intervals"]) == {"slope", "intercept"}
    found = model["bias"]["intervals"]["slope"]
    assert len(found["low"]) == len(found["high"]) == 5
    assert all(low <= high for low, high in zip(found["low"], found["high"], strict=True))
    assert set(report["harvested"]["intervals"]) == {"pivot", "adjacent_chain", "all_pairs"}


def test_counts_are_fitted_by_the_models_that_counts_allow(cltr, counts):
    report = json.loads(cltr("fit", "--log", counts, "--json").stdout)
    names = {one["name"] for one in report["models"]}
    assert names == {"pbm", "trust-bias", "document-ctr", "rank-ctr"}
    assert report["held_out"] == "a random fifth"


def test_options_go_to_one_model_or_to_all(cltr, log):
    words = ("--click-model", "sdbn", "--click-model", "pbm")
    options = ("-o", "sdbn.method=em", "-o", "click-model.iterations=7")
    report = json.loads(cltr("fit", "--log", log, *words, *options, "--json").stdout)
    for one in report["models"]:
        assert one["options"]["iterations"] == 7
        assert 0 < one["steps"] <= 9


def test_one_model_into_one_file_and_a_picture_elsewhere(cltr, log, here):
    words = ("--click-model", "pbm", "--out", "pbm.h5", "--plot", "bias.svg")
    assert cltr("fit", "--log", log, *words).exit_code == 0
    assert load_click_model(here / "pbm.h5").name == "pbm"
    assert "<svg" in (here / "bias.svg").read_text()


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["--click-model", "dbn"], 1, "make the log again with --sessions"),
        (["--click-model", "pbm", "--click-model", "pbm"], 2, "given twice"),
        (["--click-model", "adversarial"], 2, "cannot be fitted"),
        (["--click-model", "pbn"], 2, "Did you mean 'pbm'"),
        (["--click-model", "pbm", "-o", "dbn.method=em"], 2, "no click model 'dbn' is fitted"),
        (["--click-model", "pbm", "-o", "pbm.metod=em"], 2, "metod"),
        (["--out", "one.h5"], 2, "name a folder"),
        (["--plot", "curve.txt"], 2, ".png, .svg or .pdf"),
        (["--top-k", "9"], 2, "shows 5 ranks"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(refused, counts, words, code, reason):
    assert reason in refused("fit", "--log", counts, *words, code=code)


def test_a_log_without_clicks_is_refused(cltr, refused, here):
    write_csv(here / "none.csv", rows(*([(("a", "b"), ())] * 50)))
    assert cltr("ingest", "none.csv", "--out", "none.h5").exit_code == 0
    assert "no clicks" in refused("fit", "--log", "none.h5", "--click-model", "pbm", code=1)
