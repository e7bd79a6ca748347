"""Guards the decision about a candidate: its order, its shares, and what it tells."""

from dataclasses import replace

import pytest

from cltr.evaluation.gate import Gain, GateEvidence, decide_gate

BETTER = Gain(0.1, 0.02, 0.05, 0.15, 0.95, 1000)
UNSURE = Gain(0.1, 0.1, -0.1, 0.3, 0.95, 1000)
WORSE = Gain(-0.1, 0.02, -0.15, -0.05, 0.95, 1000)
NONE = Gain(0.1, None, None, None, 0.95, 1000, "too few clicks decide")
DOUBT = ("Clicks contradict production.",)


@pytest.mark.parametrize(
    ("gain", "loss", "doubts", "decision", "trust"),
    [
        (WORSE, 0.4, (), "reject", 2),
        (WORSE, 0.01, (), "reject", 2),  # before the budget is looked at
        (WORSE, 0.4, DOUBT, "reject", 2),
        (BETTER, 0.4, (), "deploy", 2),
        (BETTER, 0.4, DOUBT, "canary", 0),
        (BETTER, 0.01, DOUBT, "deploy", 0),
        (UNSURE, 0.4, (), "canary", 0),
        (UNSURE, 0.02, (), "deploy", 0),
        (UNSURE, None, (), "hold", 0),
        (NONE, 0.4, (), "canary", 0),
        (NONE, None, (), "hold", 0),
        (None, None, (), "hold", 0),
        (replace(BETTER, low=0.0), 0.4, (), "deploy", 2),
        (replace(UNSURE, high=0.0), None, (), "hold", 0),
    ],
)
def test_decisions_in_their_order(gain, loss, doubts, decision, trust):
    found = decide_gate(GateEvidence(gain, loss, doubts), max_loss=0.02)
    assert (found.decision, found.trust) == (decision, trust)
    assert (found.share == 1.0) == (decision == "deploy")


def test_the_share_of_a_canary_fits_the_budget():
    found = decide_gate(GateEvidence(UNSURE, 0.4), max_loss=0.02)
    assert found.share == pytest.approx(0.05)
    assert "5.00% of the requests" in found.sentence
    assert "2.0 points" in found.sentence


def test_a_canary_of_a_candidate_that_looks_worse_is_advised_against():
    looks_worse = Gain(-0.1, 0.02, -0.4, 0.3, 0.95, 1000)
    found = decide_gate(GateEvidence(looks_worse, 0.4))
    assert found.decision == "canary"
    assert "we advise to keep production" in found.sentence
    assert "advise" not in decide_gate(GateEvidence(UNSURE, 0.4)).sentence


def test_a_deployment_by_clicks_says_what_the_worst_case_is():
    assert "can fall by up to 40.0 points" in decide_gate(GateEvidence(BETTER, 0.4)).sentence
    assert "can fall" not in decide_gate(GateEvidence(BETTER, 0.01)).sentence


@pytest.mark.parametrize(("loss", "said"), [(0.0, True), (1e-12, True), (0.001, False)])
def test_a_candidate_that_changes_nothing_gains_nothing(loss, said):
    same = Gain(0.0, 0.0, 0.0, 0.0, 0.95, 1000)
    for doubts in ((), ("Too few clicks.",)):
        verdict = decide_gate(GateEvidence(same, loss, doubts), max_loss=0.02)
        assert verdict.decision == "deploy"
        assert ("there is nothing to gain by deploying it" in verdict.sentence) is said


def test_bounds_far_wider_than_the_error_are_explained():
    wide = Gain(0.1, 0.01, -0.1, 0.3, 0.95, 1000)
    told = " ".join(decide_gate(GateEvidence(wide, 0.4, whole_log_is_left=True)).reasons)
    assert "much wider than the standard error" in told
    assert "--clicks all" in told
    assert "--clicks all" not in " ".join(decide_gate(GateEvidence(wide, 0.4)).reasons)
    assert "wider" not in " ".join(decide_gate(GateEvidence(UNSURE, 0.4)).reasons)


def test_without_a_budget_there_is_no_canary():
    assert decide_gate(GateEvidence(UNSURE, 0.4), max_loss=0.0).decision == "hold"


def test_holding_says_how_many_more_interactions_would_decide():
    found = decide_gate(GateEvidence(UNSURE, None))
    assert found.sentence.endswith("About 3,000 more such interactions would decide.")
    even = decide_gate(GateEvidence(replace(UNSURE, value=0.0), None))
    assert even.sentence.endswith("No number of interactions is likely to decide.")


def test_reasons_name_their_level_the_clicks_first():
    evidence = GateEvidence(UNSURE, 0.4, DOUBT, estimated_exposure=True)
    reasons = decide_gate(evidence).reasons
    assert [reason.split(" (")[0] for reason in reasons] == ["Level 2", "Level 2", "Level 0"]
    assert DOUBT[0] in reasons[1]
    assert "counted from the log, so this is an estimate" in reasons[2]
    assert "too few clicks decide" in decide_gate(GateEvidence(NONE, 0.4)).reasons[0]


def test_documents_that_nothing_is_known_about_are_told():
    found = decide_gate(GateEvidence(UNSURE, 0.4, left_out=3))
    assert "without 3 documents that the log does not know" in found.reasons[-1]
    assert not any("without" in reason for reason in decide_gate(GateEvidence(UNSURE, 0.4)).reasons)


def test_both_errors_are_told_where_they_differ():
    both = replace(UNSURE, query_error=0.2).sentence()
    assert "standard error 0.1000 for these queries, 0.2000 for new queries" in both
    assert "standard error 0.1000; " in replace(UNSURE, query_error=0.1).sentence()
    assert "standard error" not in UNSURE.sentence()


def test_each_bound_and_both_together_have_their_confidence():
    told = BETTER.sentence()
    assert "lower bound +0.0500, upper bound +0.1500, each with 95% confidence" in told
    assert "both with 90%" in told
    of_an_interval = Gain(0.1, 0.02, 0.05, 0.15, 0.975, 1000).sentence()
    assert "each with 97.5% confidence, both with 95%" in of_an_interval


def test_nothing_has_no_sign():
    told = Gain(0.0, 0.0, 0.0, -0.0, 0.95, 1000).sentence()
    assert told.startswith("estimated gain 0.0000 DCG a request (lower bound 0.0000, upper bound 0")
    assert "-0" not in told and "+0" not in told
