"""Guards candidates from Python: frames as candidates and logs, verdicts that show themselves."""

import pytest

import cltr
from cltr.errors import UsageError
from tests import small
from tests.api.conftest import SMALL

ASSUMED = {"click_model": "trust-bias"}


@pytest.fixture
def log(here):
    options = {key: value for key, value in SMALL["options"].items() if "training" not in key}
    return cltr.simulate(interactions=4000, sessions=True, options=options, out="log.h5")


@pytest.fixture
def frame():
    data = small.dataset()
    return {
        "query": [str(query) for query in data.query_ids[data.lists.owners]],
        "document": [str(document) for document in data.document_ids],
        "score": data.relevance,
    }


def test_a_frame_is_a_candidate(log, frame):
    verdict = cltr.gate(frame, log=log, **ASSUMED)
    assert verdict.decision in ("deploy", "canary", "hold", "reject")
    assert bool(verdict) == (verdict.decision == "deploy")
    assert verdict.result["candidate"] == "data frame"
    assert verdict.decision in repr(verdict)
    assert "<p" in verdict._repr_html_()
    assert verdict.table().column_names[:2] == ["decision", "share"]
    assert all(reason.startswith("Level") for reason in verdict.reasons)


def test_candidates_side_by_side(log, frame):
    found = cltr.evaluate([frame, "production"], log=log, serve="sampled", **ASSUMED)
    assert {row["candidate"] for row in found._rows()} == {
        "data frame", "production", "production, sorted", "uniform",
    }  # fmt: skip
    assert "beta*-IPS" in repr(found)


def test_a_gain_has_one_lower_bound(log, frame):
    found = cltr.gate(frame, log=log)
    (dr,) = (row for row in found.result["estimates"] if row["estimator"] == "DR")
    assert dr["low"] == found.numbers["low"]
    assert dr["difference"] == pytest.approx(found.numbers["value"])


def test_a_frame_is_a_log(impressions):
    verdict = cltr.gate("production", log=impressions, click_model="pbm")
    assert verdict.decision == "deploy"
    assert verdict.numbers["worst_case_loss"] == 0.0


def test_a_run_is_judged_by_its_own_log(log):
    run = cltr.train(log=log, out="run", progress=False, **SMALL | {"interactions": None})
    verdict = run.gate(max_loss=0.05, **ASSUMED)
    assert verdict.result["max_loss"] == 0.05
    assert verdict.result["candidate"].endswith("run")


def test_a_run_without_a_log_needs_one(here):
    run = cltr.train(out="run", progress=False, **SMALL)
    with pytest.raises(UsageError, match="not trained on a log"):
        run.gate()


def test_a_loss_that_is_no_share(log):
    with pytest.raises(UsageError, match="max_loss is 2"):
        cltr.gate("production", log=log, max_loss=2)


def test_a_canary_answers_as_a_verdict_does(log, frame):
    requests = {
        "arm": ["new", "production"] * 2000,
        "share": [0.5] * 4000,
        "clicks": [1.0, 0.0] * 2000,
    }
    worse = requests | {"clicks": [0.0, 1.0] * 2000}
    for outcomes, decision in ((requests, "ship"), (worse, "stop")):
        settings = {"canary": outcomes, "outcome_column": "clicks"}
        found = cltr.gate(frame, log=log, **settings, **ASSUMED)
        assert found.decision == decision
        assert bool(found) == (decision == "ship")
        assert found.reasons[0].startswith("Level 1")
        assert found.numbers["requests"] == 4000
        assert found.table().column_names[:2] == ["decision", "share"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"serve": "random"}, "serve is 'random'; it must be 'sorted' or 'sampled'"),
        ({"clicks": "some"}, "clicks is 'some'; it must be 'test' or 'all'"),
        ({"confidence": 95}, r"confidence is 95; it must lie between 0\.5 and 1"),
        ({"outcome_range": (5, 0)}, "the outcome range is 5 to 0"),
    ],
)
def test_wrong_choices_are_refused(log, wrong, message):
    with pytest.raises(UsageError, match=message):
        cltr.gate("production", log=log, **wrong)
