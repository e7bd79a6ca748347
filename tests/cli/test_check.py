"""Guards ``cltr check`` as it is typed: verdicts, picture, and an honest no by its exit code."""

import json

import pytest

from tests.plain_logs import rows, write_csv


@pytest.fixture
def log(cltr, here):
    """A log that supports estimates."""
    lists = [
        (("a", "b", "c"), ("a",)), (("b", "a", "c"), ("a", "b")), (("c", "a", "b"), ("c",)),
        (("a", "c", "b"), ("a", "b")), (("b", "c", "a"), ("c",)), (("c", "b", "a"), ()),
    ] * 100  # fmt: skip
    write_csv(here / "log.csv", rows(*lists))
    assert cltr("ingest", "log.csv", "--out", "log.h5").exit_code == 0
    return "log.h5"


@pytest.fixture
def hopeless(cltr, here):
    """A log without a click."""
    write_csv(here / "log.csv", rows(*([(("a", "b"), ())] * 50)))
    assert cltr("ingest", "log.csv", "--out", "log.h5").exit_code == 0
    return "log.h5"


def test_verdicts_come_before_findings(cltr, log):
    done = cltr("check", log)
    assert done.exit_code == 0
    words = ("position bias", "evaluation", "training", "clicks per impression", "why: ", "do: ")
    places = [done.stdout.index(word) for word in ("possible?", "clicks per impression", "why: ")]
    assert places == sorted(places)
    for word in (*words, "overlap", "production", "rows-lost"):
        assert word in done.stdout


def test_json_is_one_object(cltr, log):
    report = json.loads(cltr("check", log, "--json").stdout)
    assert set(report["verdicts"]) == {"position-bias", "evaluation", "training"}
    verdict = {"use", "answer", "reason", "advice", "number", "findings"}
    assert set(report["verdicts"]["training"]) == verdict
    finding = {"name", "level", "uses", "number", "text", "why", "advice", "details", "decides"}
    assert set(report["findings"][0]) == finding
    assert len(report["click_rate"]) == 3


def test_an_honest_no_is_exit_code_3(cltr, hopeless):
    done = cltr("check", hopeless)
    assert done.exit_code == 3
    assert "no" in done.stdout and "0 training and 0 validation clicks" in done.stdout
    assert cltr("check", hopeless, "--json").exit_code == 3


def test_a_use_that_must_be_possible_decides_the_exit_code(cltr, here):
    """Fixed lists and a click model from elsewhere: all but position bias is possible."""
    lists = [(("a", "b", "c"), ("a",)), (("a", "b", "c"), ())] * 400
    write_csv(here / "log.csv", rows(*lists))
    assert cltr("ingest", "log.csv", "--out", "log.h5").exit_code == 0
    model = ("--click-model", "pbm")
    assert cltr("check", "log.h5").exit_code == 3
    assert cltr("check", "log.h5", *model).exit_code == 0
    assert cltr("check", "log.h5", *model, "--for", "training").exit_code == 0
    assert cltr("check", "log.h5", *model, "--for", "position-bias").exit_code == 3


def test_the_picture(cltr, log, here):
    assert cltr("check", log, "--plot", "check.png").exit_code == 0
    assert (here / "check.png").stat().st_size > 10_000


def test_simulated_logs_can_be_checked(cltr, here):
    assert cltr("simulate", "-n", "3e3", "--out", "sim.h5").exit_code == 0
    report = json.loads(cltr("check", "sim.h5", "--click-model", "trust-bias", "--json").stdout)
    found = {one["name"]: one for one in report["findings"]}
    assert found["exposure"]["level"] == "good"
    assert found["click-model"]["level"] == "good"


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["nothing.h5"], 1, "nothing.h5: no such file"),
        (["log.csv"], 1, "log.csv: is not a log file of cltr; import it first"),
        (["log.h5", "--click-model", "pmb"], 2, "no click-model named 'pmb'"),
        (["log.h5", "-o", "reward.x=1"], 2, "only options of the click-model can be set"),
        (["log.h5", "-o", "click-model.eta=2"], 2, "name the click model, with --click-model"),
        (["log.h5", "--for", "fun"], 2, "'fun' is not one of"),
        (["log.h5", "--plot", "ranks.doc"], 2, "must end in .png, .svg or .pdf"),
    ],
)
def test_what_is_wrong_is_one_line(refused, log, words, code, line):
    assert line in refused("check", *words, code=code)
