"""Pages from real data: each tells its own story, with the numbers of its own result."""

import json

import pytest
from click.testing import CliRunner

import cltr
from cltr.cli import cli
from tests.judged import REAL, needs_real
from tests.report.reading import read_page

pytestmark = needs_real


def parts_of(path):
    page = path.read_text(encoding="utf-8")
    assert len(page.encode()) < 1_000_000
    assert "http://" not in page and "https://" not in page and "<script" not in page
    return {one.attributes["id"]: one for one in read_page(page).all("section")}


@pytest.fixture(scope="module")
def yandex(tmp_path_factory):
    """A log without features and judgements, and a run on it."""
    folder = tmp_path_factory.mktemp("yandex")
    log = cltr.ingest(
        REAL / "yandex-relpred" / "train.tsv.gz",
        out=folder / "log.h5",
        sessions=True,
        progress=False,
    )
    options = {"training.epochs": 5}
    run = cltr.train(log=folder / "log.h5", out=folder / "run", options=options, progress=False)
    assert log.path == folder / "log.h5"
    return run


def test_a_run_on_a_log_alone(yandex):
    parts, result = parts_of(yandex.path / "report.html"), yandex.result
    top = parts["verdict"]
    assert result["advice"]["sentence"] in top.text
    assert "counted from the log, so this is an estimate" in top.text
    assert "Judgements" not in top.text and "judgements" not in parts["quality"].text
    assert result["off_policy"]["difference"]["value"] in top.numbers
    assert f"cltr gate {yandex.path} --log" in top.text or result["verdict"] != "canary"
    assert "One query dominates" in parts["log"].text
    assert "head" in parts["changes"].text and "tail" in parts["changes"].text
    changes = json.loads((yandex.path / "changes.json").read_text())
    for query in changes["by_traffic"]:
        assert query["query"] in parts["changes"].text
        assert {query["worst_case_loss"], query["gain"]} <= set(parts["changes"].numbers)


def test_a_gate_on_scores_of_others(yandex, tmp_path):
    log = cltr.read_log(REAL / "yandex-relpred" / "train.tsv.gz")
    lists = log.lists
    lines = [
        f"{q},{d},{len(d)}"
        for q, d in zip(lists.query_ids[lists.lists.owners], lists.document_ids, strict=True)
    ]
    (tmp_path / "scores.csv").write_text("\n".join(["query,document,score", *lines]))
    found = cltr.gate(tmp_path / "scores.csv", log=yandex.config.log, out=tmp_path / "gate.json")
    parts = parts_of(tmp_path / "gate.html")
    assert found.verdict.sentence in parts["verdict"].text
    assert {found.result["gain"]["value"], found.result["worst_case_loss"]} <= set(
        parts["verdict"].numbers
    )
    assert "cltr export" not in parts["verdict"].text  # it is no run of ours
    for note in found.result["notes"]:
        assert note in parts["making"].text


def test_a_run_that_stayed_with_production(tmp_path):
    folder = REAL / "mq2008"
    words = [
        "data",
        "import",
        "--train",
        folder / "S1.txt",
        "--valid",
        folder / "S2.txt",
        "--test",
        folder / "S3.txt",
        "--out",
        tmp_path / "mq.h5",
    ]
    assert CliRunner().invoke(cli, [str(word) for word in words]).exit_code == 0
    run = cltr.train(
        data=tmp_path / "mq.h5",
        users="adversarial",
        interactions=5000,
        skyline=False,
        out=tmp_path / "run",
        options={"production.epochs": 10},
        progress=False,
    )
    assert run.result["plan"] == "stay" and run.result["verdict"] == "hold"
    parts = parts_of(run.path / "report.html")
    assert "Nothing can be lost. The run kept production" in parts["verdict"].text
    assert "Nothing changes: every query keeps the ranking of production" in parts["changes"].text
    assert "Gain against worst-case loss" not in parts["quality"].text
    assert "nothing was learned: the policy is production" in parts["making"].text
    failed = [one for one in run.result["checks"] if one["outcome"] == "fail"]
    assert failed and all(one["advice"] in parts["verdict"].text for one in failed)
