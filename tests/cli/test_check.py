"""Guards ``cltr check`` as it is typed: findings, picture, and an honest no by its exit code."""

import json

import pytest

from tests.plain_logs import rows, write_csv


@pytest.fixture
def log(cltr, here):
    """A log that supports estimates."""
    lists = [(("a", "b", "c"), ("a",)), (("b", "a", "c"), ("b",)), (("c", "a", "b"), ())] * 200
    write_csv(here / "log.csv", rows(*lists))
    assert cltr("ingest", "log.csv", "--out", "log.h5").exit_code == 0
    return "log.h5"


@pytest.fixture
def hopeless(cltr, here):
    """A log without a click."""
    write_csv(here / "log.csv", rows(*([(("a", "b"), ())] * 50)))
    assert cltr("ingest", "log.csv", "--out", "log.h5").exit_code == 0
    return "log.h5"


def test_findings_are_shown(cltr, log):
    done = cltr("check", log, "--click-model", "pbm")
    assert done.exit_code == 0
    for word in ("clicks per impression", "overlap", "effective-sample", "why: ", "do: "):
        assert word in done.stdout


def test_json_is_one_object(cltr, log):
    report = json.loads(cltr("check", log, "--click-model", "pbm", "--json").stdout)
    assert report["verdict"] in ("sound", "careful")
    assert {"name", "level", "number", "text", "why", "advice"} == set(report["findings"][0])
    assert len(report["click_rate"]) == 3


def test_an_honest_no_is_exit_code_3(cltr, hopeless):
    done = cltr("check", hopeless)
    assert done.exit_code == 3
    assert "meaningless" in done.stdout
    assert cltr("check", hopeless, "--json").exit_code == 3


def test_the_picture(cltr, log, here):
    assert cltr("check", log, "--plot", "ranks.png").exit_code == 0
    assert (here / "ranks.png").stat().st_size > 1000


def test_simulated_logs_can_be_checked(cltr, here):
    assert cltr("simulate", "-n", "3e3", "--out", "sim.h5").exit_code == 0
    report = json.loads(cltr("check", "sim.h5", "--json").stdout)
    found = {one["name"]: one for one in report["findings"]}
    assert found["exposure"]["level"] == "good"
    assert found["click-model"]["level"] == "good"


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["nothing.h5"], 1, "nothing.h5: no such file"),
        (["log.csv"], 1, "log.csv: is a log as it came; make a log file of it first"),
        (["log.h5", "--click-model", "pmb"], 2, "no click-model named 'pmb'"),
        (["log.h5", "-o", "reward.x=1"], 2, "only options of the click-model"),
        (["log.h5", "--plot", "ranks.doc"], 1, "must end in .png, .svg or .pdf"),
    ],
)
def test_what_is_wrong_is_one_line(refused, log, words, code, line):
    assert line in refused("check", *words, code=code)
