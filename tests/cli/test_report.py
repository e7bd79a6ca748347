"""The HTML report from the command line: written by train, made again, or refused."""

import json

import pytest

from tests.report.reading import read_page
from tests.small import FLAGS as ALL_FLAGS

FLAGS = ALL_FLAGS[3:]


@pytest.fixture
def run(train, here):
    return here / train("--out", here / "run", "--on-doubt", "bound")["run"]


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
        ("a.csv", "query,score\n", "give a run folder, or a file that 'cltr gate'"),
        ("log.h5", "\x89HDF\r\n\x1a\n", "is a log or a data set (HDF5), not a result"),
        ("a.json", "[1]", "is not a result, which is a JSON object"),
        ("a.json", '{"a": 1}', "is not a result"),
    ],
)
def test_what_is_no_result_is_refused_in_one_line(cltr, here, name, contents, message):
    if contents is not None:
        (here / name).write_bytes(contents.encode("latin-1"))
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


def section_texts(path):
    page = read_page(path.read_text())
    return {one.attributes["id"]: one for one in page.all("section")}


def test_a_run_has_all_parts_and_its_own_numbers(run):
    result = json.loads((run / "result.json").read_text())
    parts = section_texts(run / "report.html")
    assert list(parts) == ["verdict", "quality", "log", "changes", "making"]
    for who in ("production", "policy", "difference"):
        found = result["off_policy"][who]
        assert {found["value"], found["standard_error"]} - {None} <= set(parts["quality"].numbers)
    for values in result["metrics"].values():
        assert {v for k, v in values.items() if not k.startswith("train_")} <= set(
            parts["quality"].numbers
        )
    for case in (result["certificate"][split]["worst_case"] for split in ("test", "train")):
        assert set(case["ndcg@5"].values()) <= set(parts["quality"].numbers)
    assert result["off_policy"]["largest_weight"] in parts["log"].numbers
    for check in result["checks"]:
        assert check["sentence"] in parts["making"].text
    assert f"cltr train --config {run}/run.toml" in parts["making"].text
    assert (
        json.loads((run / "changes.json").read_text())["exposure_moved"] in parts["changes"].numbers
    )


def test_what_changes_adds_up_to_the_result(run):
    result, changes = (json.loads((run / f"{n}.json").read_text()) for n in ("result", "changes"))
    policy = changes["trade_off"][0]
    assert policy["name"] == "policy"
    assert policy["gain"] == pytest.approx(result["off_policy"]["difference"]["value"], abs=1e-12)
    worst = result["certificate"]["test"]["worst_case"]["ndcg@5"]["loss"]
    assert policy["worst_case_loss"] == pytest.approx(worst, abs=1e-12)


def test_a_run_without_changes_says_so(cltr, run):
    (run / "changes.json").unlink()
    assert cltr("report", run).exit_code == 0
    assert "without the rankings side by side" in section_texts(run / "report.html")["changes"].text


def test_evaluate_saves_its_result_and_a_page(cltr, run):
    done = cltr("evaluate", run, "--out", "found.json", "--json")
    assert done.exit_code == 0, done.stderr
    saved = json.loads((run.parent / "found.json").read_text())
    assert saved.pop("changes")["version"] == 1
    assert saved == json.loads(done.stdout)
    parts = section_texts(run.parent / "found.html")
    assert "does not decide" in parts["verdict"].text
    page = (run.parent / "found.html").read_text()
    assert cltr("report", "found.json").exit_code == 0
    assert len((run.parent / "found.html").read_text()) > 0.5 * len(page)


def test_gate_saves_its_verdict_and_a_page(cltr, run):
    words = [*("simulate", "-n", 4000, "--sessions", "--out", "log.h5"), *FLAGS]
    assert cltr(*words).exit_code == 0
    judging = ["--log", "log.h5", "--click-model", "trust-bias", "--clicks", "all"]
    done = cltr("gate", run, *judging, "--out", "gate.json", "--json")
    assert done.exit_code in (0, 3), done.stderr
    found = json.loads(done.stdout)
    page = (run.parent / "gate.html").read_text()
    parts = section_texts(run.parent / "gate.html")
    assert list(parts) == ["verdict", "quality", "log", "changes", "making"]
    assert found["sentence"] in parts["verdict"].text
    assert {found["gain"]["value"], found["worst_case_loss"]} <= set(parts["verdict"].numbers)
    for row in found["estimates"]:
        assert {row["value"], row["difference"]} <= set(parts["quality"].numbers)
    command = found["made_from"]["command"]
    assert command.startswith(f"cltr gate {run} --log log.h5") and "--clicks all" in command
    assert command in parts["making"].text
    assert cltr("report", "gate.json").exit_code == 0
    assert (run.parent / "gate.html").read_text() == page
    done = cltr("evaluate", run, "production", *judging, "--out", "both.json", "--no-report")
    assert done.exit_code == 0, done.stderr
    assert not (run.parent / "both.html").exists()
    assert cltr("report", "both.json").exit_code == 0
    assert "Candidates side by side" in (run.parent / "both.html").read_text()


@pytest.mark.parametrize("out", ["found.txt", "nowhere/found.json"])
def test_a_result_that_cannot_be_saved_is_refused_before_any_work(cltr, run, out):
    done = cltr("evaluate", run, "--out", out)
    assert done.exit_code == 2 and f"--out {out}" in done.stderr and done.stdout == ""
