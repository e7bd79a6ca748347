"""The HTML report from the command line: written by train, made again, or refused."""

import json

import pytest

from tests.report.reading import read_page


@pytest.fixture
def run(train, here):
    return here / train("--out", here / "run")["run"]


def test_train_writes_a_page_and_report_writes_the_same(cltr, run):
    page = (run / "report.html").read_text()
    done = cltr("report", run, "--out", "again.html")
    assert done.exit_code == 0
    assert done.stdout.startswith("wrote again.html (")
    assert (run.parent / "again.html").read_text() == page
    assert len(page.encode()) < 1_000_000


def test_the_page_can_be_left_out(cltr, train, here):
    path = here / train("--out", here / "without", "--no-report")["run"]
    assert not (path / "report.html").exists()
    done = cltr("report", path, "--json")
    assert json.loads(done.stdout)["out"] == str(path / "report.html")
    assert json.loads(done.stdout)["bytes"] == (path / "report.html").stat().st_size


def test_the_verdict_on_the_page_is_that_of_the_run(run):
    result = json.loads((run / "result.json").read_text())
    top = read_page((run / "report.html").read_text()).with_id("verdict")
    assert result["advice"]["sentence"] in top.text
    assert result["verdict"] in top.text
    assert result["off_policy"]["difference"]["value"] in top.numbers
    assert result["certificate"]["test"]["worst_case"]["ndcg@5"]["loss"] in top.numbers


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        ("none", None, "no such run, study or result file"),
        ("a.json", "[1", "cannot be read as JSON"),
        ("a.json", "[1]", "expected a JSON object"),
        ("a.json", '{"a": 1}', "is not a result"),
    ],
)
def test_what_is_no_result_is_refused_in_one_line(cltr, here, name, contents, message):
    if contents is not None:
        (here / name).write_text(contents)
    done = cltr("report", name)
    assert done.exit_code in (1, 2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_page_is_html(cltr, run):
    done = cltr("report", run, "--out", "page.pdf")
    assert done.exit_code == 2 and "must end in .html" in done.stderr
    assert not (run.parent / "page.pdf").exists()


def test_an_unfinished_run_says_how_to_go_on(cltr, run):
    (run / "result.json").unlink()
    done = cltr("report", run)
    assert done.exit_code == 1 and "cltr train --resume" in done.stderr
