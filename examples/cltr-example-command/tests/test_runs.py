"""Guards ``cltr runs``: it conforms, lists the best run first, and says what is not there."""

import json

import pytest
from click.testing import CliRunner
from cltr_example_command import Runs, runs

from cltr.testing import check_command


def test_conforms():
    check_command(Runs())


@pytest.fixture
def folder(tmp_path):
    for name, value in (("001-plain-ips", 0.41), ("002-prpo-dr", 0.52)):
        estimator, reward = name.split("-")[1:]
        result = {
            "estimator": estimator,
            "reward": reward,
            "ranker": "exact",
            "run": name,
            "metrics": {"policy": {"ndcg@5": value}},
        }
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(json.dumps(result))
    return tmp_path


def test_the_best_run_comes_first(folder):
    lines = CliRunner().invoke(runs, [str(folder)]).output.splitlines()
    assert lines == [
        "0.5200  002-prpo-dr  prpo/dr/exact",
        "0.4100  001-plain-ips  plain/ips/exact",
    ]


def test_a_metric_that_is_not_there_is_an_error(folder):
    done = CliRunner().invoke(runs, [str(folder), "--by", "mrr"])
    assert str(done.exception).startswith("no metric 'mrr' in ")
